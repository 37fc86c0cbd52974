#include "session/settings/budget.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace stowage::session {
namespace {

constexpr double kMostBytes = 1e18;
constexpr double kLeastBegins = 1;  // percent of the job's own peak

// Removes the number at the front of `text` and returns it. Digits and a point, no sign and no exponent.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value <= 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> bytes_in_unit(std::string_view unit) {
  constexpr double kKilo = 1000;
  constexpr double kKibi = 1024;
  static constexpr std::array<std::pair<std::string_view, double>, 10> kUnits{
      {{"", 1},
       {"B", 1},
       {"KB", kKilo},
       {"MB", kKilo * kKilo},
       {"GB", kKilo * kKilo * kKilo},
       {"TB", kKilo * kKilo * kKilo * kKilo},
       {"KiB", kKibi},
       {"MiB", kKibi * kKibi},
       {"GiB", kKibi * kKibi * kKibi},
       {"TiB", kKibi * kKibi * kKibi * kKibi}}};
  for (const auto& [name, bytes] : kUnits)
    if (name == unit) return bytes;
  return std::nullopt;
}

}  // namespace

std::optional<Budget> Budget::parse(std::string_view text) {
  Budget budget;
  if (text.empty()) return budget;
  budget.text_ = text;
  if (text == "none") return budget;
  if (text == "auto") return automatic();
  if (text == "least") {
    budget.kind_ = Kind::kLeast;
    budget.percent_ = kLeastBegins;
    return budget;
  }
  const std::optional<double> number = take_number(text);
  if (!number) return std::nullopt;
  if (text == "%" || text == "%device") {
    constexpr double kWhole = 100;
    if (*number > kWhole) return std::nullopt;
    budget.kind_ = text == "%" ? Kind::kShareOfPeak : Kind::kShareOfDevice;
    budget.percent_ = *number;
    return budget;
  }
  const std::optional<double> unit = bytes_in_unit(text);
  if (!unit || *number * *unit < 1 || *number * *unit > kMostBytes) return std::nullopt;
  budget.kind_ = Kind::kBytes;
  budget.bytes_ = Bytes(static_cast<std::uint64_t>(*number * *unit));
  return budget;
}

Budget Budget::automatic() {
  Budget budget;
  budget.kind_ = Kind::kAuto;
  budget.text_ = "auto";
  return budget;
}

Bytes Budget::limit_of(Bytes whole) const {
  if (kind_ == Kind::kBytes) return bytes_;
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(whole.value()) * percent_ / 100.0));
}

}  // namespace stowage::session
