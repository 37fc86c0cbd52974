#include "session/settings/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "session/settings/environment.h"

namespace stowage::session {
namespace {

/// One setting: how it is named, read, printed and explained.
struct Entry {
  std::string variable;
  std::string key;
  std::string bounds;
  std::string help;
  std::function<bool(Settings&, const std::string&)> read;  ///< false: out of bounds; settings are unchanged
  std::function<std::string(const Settings&)> print;
};

std::string key_of(const std::string& variable) {
  if (variable == "STOWAGE") return "enable";
  std::string key = variable.substr(sizeof("STOWAGE_") - 1);
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
  return key;
}

std::string print_number(double value) {
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

Entry flag(const std::string& variable, bool Settings::*field, std::string help) {
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

Entry count(const std::string& variable, std::uint64_t Settings::*field, std::uint64_t low,
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

Entry real(const std::string& variable, double Settings::*field, double low, double high, std::string help) {
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

Entry text(const std::string& variable, std::string Settings::*field, std::string bounds, std::string help) {
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

// "recipe:OP" names an op; the others are words.
Entry fault() {
  constexpr std::string_view kRecipe = "recipe:";
  Entry entry = choice("STOWAGE_FAULT", &Settings::fault, {"none", "planner", "thread", "arena"},
                       "for tests: what is made to fail");
  const auto read = entry.read;
  const auto print = entry.print;
  entry.bounds += " | recipe:OP";
  entry.read = [=](Settings& settings, const std::string& text) {
    const bool recipe = text.size() > kRecipe.size() && text.compare(0, kRecipe.size(), kRecipe) == 0;
    if (!recipe && !read(settings, text)) return false;
    if (recipe) settings.fault = Fault::kRecipe;
    settings.wrong_recipe = recipe ? text.substr(kRecipe.size()) : "";
    return true;
  };
  entry.print = [=](const Settings& settings) {
    if (settings.fault == Fault::kRecipe) return std::string(kRecipe) + settings.wrong_recipe;
    return print(settings);
  };
  return entry;
}

// The table. Everything that lists, reads or explains settings goes through it.
const std::vector<Entry>& table() {
  static const auto* entries = new std::vector<Entry>{
      flag("STOWAGE", &Settings::enable, "use Stowage in this process"),
      choice("STOWAGE_DEVICES", &Settings::devices, {"auto", "cuda", "cpu", "both"},
             "allocators to plan; auto: CUDA's where a CUDA driver is found, else the CPU's"),
      parsed("STOWAGE_BUDGET", &Settings::budget, "the most bytes of a device that the job may hold"),
      flag("STOWAGE_RECORD_OPS", &Settings::record_ops, "record ATen ops too, not only allocations"),
      choice("STOWAGE_CUPTI", &Settings::cupti, {"auto", "0", "1"},
             "time a GPU's ops by CUPTI; auto: under a budget, and for STOWAGE_TRACE; else by CUDA events"),
      count("STOWAGE_RECORD_EVENTS", &Settings::record_events, 1'000, 100'000'000,
            "the most recorded events to keep"),
      count("STOWAGE_RECORD_ITERATIONS", &Settings::record_iterations, 2, 1'000'000,
            "iterations without a steady state after which Stowage gives up"),
      real("STOWAGE_PLAN_SECONDS", &Settings::plan_seconds, 0.01, 3600,
           "time limit of the planner, in seconds"),
      count("STOWAGE_PLAN_WORK", &Settings::plan_work, 1'000, 1'000'000'000'000,
            "work limit of the planner, in placed buffers looked at, about 1 ns each"),
      count("STOWAGE_PLAN_WAIT_MS", &Settings::plan_wait_ms, 0, 600'000,
            "milliseconds to wait for a plan at the end of the iteration that requests it"),
      count("STOWAGE_MAX_PLANS", &Settings::max_plans, 1, 64, "kinds of iteration planned side by side"),
      real("STOWAGE_MISS_TOLERANCE", &Settings::miss_tolerance, 0, 1,
           "share of requests off the plan above which an iteration has diverged"),
      count("STOWAGE_DIVERGED_ITERATIONS", &Settings::diverged_iterations, 1, 1'000'000,
            "diverged iterations in a row after which recording begins again"),
      count("STOWAGE_MAX_REPLANS", &Settings::max_replans, 0, 1'000,
            "times recording may begin again before Stowage gives up"),
      choice("STOWAGE_ARENA", &Settings::arena, {"vmm", "malloc"},
             "memory of a CUDA arena: CUDA virtual memory, or one cudaMalloc (for IPC and RDMA)"),
      text("STOWAGE_REPORT", &Settings::report, "text (or 1), or a path",
           "at exit: a table on stderr, or JSON in a file"),
      text("STOWAGE_TRACE", &Settings::trace, "a path", "at exit: write the recorded trace to this file"),
      text("STOWAGE_PLAN_CACHE", &Settings::plan_cache, "a folder", "keep plans here between runs"),
      text("STOWAGE_JOB", &Settings::job, "any text", "name of the job in traces, for people"),
      text("STOWAGE_LIBRARY", &Settings::library, "a path",
           "libstowage.so, for the preload shim; else beside it"),
      count("STOWAGE_VERBOSE", &Settings::verbose, 0, 2,
            "0 warnings, 1 state changes too, 2 every iteration"),
      flag("STOWAGE_VERIFY", &Settings::verify,
           "for debugging: replay each op's recipe at once, compare the bits, and say which differs"),
      parsed("STOWAGE_EVICT", &Settings::evict,
             "for debugging: evictions that nobody needs; docs/debugging.md"),
      fault(),
  };
  return *entries;
}

Error unknown(const std::string& key) {
  std::vector<std::string> known;
  for (const Entry& entry : table()) known.push_back(entry.key);
  const std::string nearest = nearest_name(key, known);
  return {ErrorCode::kInvalidArgument,
          "there is no setting " + key +
              (nearest.empty() ? "; `stowage settings` lists them all with their bounds"
                               : "; did you mean " + nearest + "?")};
}

Status apply(Settings& settings, const Entry& entry, const std::string& value) {
  if (entry.read(settings, value)) return {};
  return Error{ErrorCode::kInvalidArgument, entry.variable + " is \"" + value + "\", but it takes " +
                                                entry.bounds + " (" + entry.help + ")"};
}

const Entry* find(const std::string& name, std::string Entry::*by) {
  const auto& entries = table();
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.*by == name; });
  return at == entries.end() ? nullptr : &*at;
}

Status apply_lines(Settings& settings, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t stop = lines.find('\n');
    const std::string line(lines.substr(0, stop));
    lines = stop == std::string_view::npos ? std::string_view() : lines.substr(stop + 1);
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos)
      return Error{ErrorCode::kInvalidArgument, "\"" + line + "\" is not of the form key=value"};
    const Entry* entry = find(line.substr(0, equals), &Entry::key);
    if (entry == nullptr) return unknown(line.substr(0, equals));
    if (Status status = apply(settings, *entry, line.substr(equals + 1)); !status) return status;
  }
  return {};
}

}  // namespace

Result<Settings> parse_settings(const std::vector<std::pair<std::string, std::string>>& environment,
                                std::string_view overrides) {
  Settings settings;
  for (const auto& [name, value] : environment) {
    if (name == "STOWAGE" && value.empty()) continue;  // `STOWAGE= python …` is the shell's way to say unset
    const Entry* entry = find(name, &Entry::variable);
    if (entry == nullptr) continue;
    if (Status status = apply(settings, *entry, value); !status) return status.error();
  }
  if (Status status = apply_lines(settings, overrides); !status) return status.error();
  return settings;
}

Result<Settings> read_settings(std::string_view overrides) {
  return parse_settings(process_environment(), overrides);
}

std::vector<SettingRow> list_settings(const Settings& settings) {
  std::vector<SettingRow> rows;
  for (const Entry& entry : table())
    rows.push_back({entry.variable, entry.key, entry.print(settings), entry.print(Settings{}), entry.bounds,
                    entry.help});
  return rows;
}

std::string settings_json(const Settings& settings) {
  auto rows = nlohmann::json::array();
  for (const SettingRow& row : list_settings(settings)) {
    rows.push_back({{"variable", row.variable},
                    {"key", row.key},
                    {"value", row.value},
                    {"default", row.standard},
                    {"bounds", row.bounds},
                    {"help", row.help}});
  }
  return rows.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stowage::session
