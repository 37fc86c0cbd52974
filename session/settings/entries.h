// One row of the table of settings, by the sort of value that it takes. Only settings.cc includes this.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "session/settings/settings.h"

namespace stowage::session {

/// One setting: how it is named, read, printed and explained.
struct Entry {
  std::string variable;
  std::string key;
  std::string bounds;
  std::string help;
  std::function<bool(Settings&, const std::string&)> read;  ///< false: out of bounds; settings are unchanged
  std::function<std::string(const Settings&)> print;
};

inline std::string key_of(const std::string& variable) {
  if (variable == "STOWAGE") return "enable";
  std::string key = variable.substr(sizeof("STOWAGE_") - 1);
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
  return key;
}

inline std::string print_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

inline Entry flag(const std::string& variable, bool Settings::*field, std::string help) {
  return {variable,
          key_of(variable),
          "0 or 1",
          std::move(help),
          [field](Settings& settings, const std::string& text) {
            if (text != "0" && text != "1") return false;
            settings.*field = text == "1";
            return true;
          },
          [field](const Settings& settings) { return std::string(settings.*field ? "1" : "0"); }};
}

inline Entry count(const std::string& variable, std::uint64_t Settings::*field, std::uint64_t low,
                   std::uint64_t high, std::string help) {
  return {variable,
          key_of(variable),
          std::to_string(low) + " to " + std::to_string(high),
          std::move(help),
          [=](Settings& settings, const std::string& text) {
            const auto value = parse_number<std::uint64_t>(text);
            if (!value || *value < low || *value > high) return false;
            settings.*field = *value;
            return true;
          },
          [field](const Settings& settings) { return std::to_string(settings.*field); }};
}

inline Entry real(const std::string& variable, double Settings::*field, double low, double high,
                  std::string help) {
  return {variable,
          key_of(variable),
          print_number(low) + " to " + print_number(high),
          std::move(help),
          [=](Settings& settings, const std::string& text) {
            const auto value = parse_number<double>(text);
            if (!value || !std::isfinite(*value) || *value < low || *value > high) return false;
            settings.*field = *value;
            return true;
          },
          [field](const Settings& settings) { return print_number(settings.*field); }};
}

inline Entry text(const std::string& variable, std::string Settings::*field, std::string bounds,
                  std::string help) {
  return {variable,
          key_of(variable),
          std::move(bounds),
          std::move(help),
          [field](Settings& settings, const std::string& value) {
            settings.*field = value;
            return true;
          },
          [field](const Settings& settings) { return settings.*field; }};
}

// `Setting` has parse(), text() and kBounds, as Budget has.
template <class Setting>
Entry parsed(const std::string& variable, Setting Settings::*field, std::string help) {
  return {variable,
          key_of(variable),
          Setting::kBounds,
          std::move(help),
          [field](Settings& settings, const std::string& text) {
            const std::optional<Setting> read = Setting::parse(text);
            if (read) settings.*field = *read;
            return read.has_value();
          },
          [field](const Settings& settings) { return (settings.*field).text(); }};
}

template <class E>
Entry choice(const std::string& variable, E Settings::*field, const std::vector<std::string>& names,
             std::string help) {
  std::string bounds;
  for (const std::string& name : names) bounds += (bounds.empty() ? "" : " | ") + name;
  return {
      variable,
      key_of(variable),
      bounds,
      std::move(help),
      [field, names](Settings& settings, const std::string& value) {
        const auto at = std::find(names.begin(), names.end(), value);
        if (at == names.end()) return false;
        settings.*field = static_cast<E>(at - names.begin());
        return true;
      },
      [field, names](const Settings& settings) { return names[static_cast<std::size_t>(settings.*field)]; }};
}

}  // namespace stowage::session
