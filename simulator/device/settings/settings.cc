#include "simulator/device/settings/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace stowage::simulator {
namespace {

[[noreturn]] void refuse(const char* variable, const std::string& value, const char* allowed) {
  std::fprintf(stderr, "stowage simulator: %s=%s is not valid: give %s\n", variable, value.c_str(), allowed);
  std::_Exit(2);
}

template <typename Number>
void read_number(const char* variable, Number low, Number high, Number& into) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return;
  const std::string text = value;
  Number parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc{} || end != text.data() + text.size() || parsed < low || parsed > high) {
    const std::string allowed = "a number from " + std::to_string(low) + " to " + std::to_string(high);
    refuse(variable, text, allowed.c_str());
  }
  into = parsed;
}

void read_bytes(const char* variable, std::uint64_t low, std::uint64_t high, std::uint64_t& into) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return;
  const auto parsed = parse_bytes(value);
  if (!parsed || *parsed < low || *parsed > high) refuse(variable, value, "a size such as 512MiB or 80GiB");
  into = *parsed;
}

void read_flag(const char* variable, bool& into) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return;
  const std::string text = value;
  if (text != "0" && text != "1") refuse(variable, text, "0 or 1");
  into = text == "1";
}

// "name:number,name:number"; numbers have at most six digits.
void read_pairs(const char* variable, const char* allowed, std::map<std::string, int>& into) {
  const char* const value = std::getenv(variable);
  std::istringstream text(value == nullptr ? "" : value);
  for (std::string word; std::getline(text, word, ',');) {
    const std::size_t colon = word.find(':');
    int number = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] =
        std::from_chars(word.data() + (colon == std::string::npos ? word.size() : colon + 1), end, number);
    if (error != std::errc{} || stop != end || number < 1 || number > 999'999)
      refuse(variable, value, allowed);
    into[word.substr(0, colon)] = number;
  }
}

void read_cupti(Settings& into) {
  read_pairs("STOWAGE_SIM_CUPTI_ERRORS", "functions with codes, such as cuptiSubscribe:39",
             into.cupti_errors);
  constexpr const char* kVariable = "STOWAGE_SIM_CUPTI_FAULTS";
  constexpr const char* kAllowed = "drop, untimed, reversed or unknown, each with a number, such as drop:3";
  read_pairs(kVariable, kAllowed, into.cupti_faults);
  for (const auto& [name, every] : into.cupti_faults)
    if (std::find(kCuptiFaults.begin(), kCuptiFaults.end(), name) == kCuptiFaults.end())
      refuse(kVariable, name, kAllowed);
}

std::optional<int> shift_of_unit(std::string unit) {
  for (char& letter : unit) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (unit.empty() || unit == "b") return 0;
  if (unit == "k" || unit == "kb" || unit == "kib") return 10;
  if (unit == "m" || unit == "mb" || unit == "mib") return 20;
  if (unit == "g" || unit == "gb" || unit == "gib") return 30;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(const std::string& text) {
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc{} || !(amount >= 0)) return std::nullopt;
  const auto shift = shift_of_unit(std::string(end, text.data() + text.size()));
  if (!shift) return std::nullopt;
  const double bytes = amount * static_cast<double>(std::uint64_t{1} << *shift);
  if (bytes > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

Settings load_settings() {
  Settings read;
  constexpr std::int64_t kLongestNs = 1'000'000'000;
  constexpr std::int64_t kFastest = 1'000'000'000;
  read_bytes("STOWAGE_SIM_MEMORY", std::uint64_t{2} << 20, std::uint64_t{1} << 40, read.memory_bytes);
  read_number("STOWAGE_SIM_DEVICES", 1, 8, read.devices);
  read_number<std::int64_t>("STOWAGE_SIM_HOST_CALL_NS", 1, kLongestNs, read.host_call_ns);
  read_number<std::int64_t>("STOWAGE_SIM_LAUNCH_NS", 0, kLongestNs, read.launch_ns);
  read_number<std::int64_t>("STOWAGE_SIM_GFLOPS", 1, kFastest, read.gflops);
  read_number<std::int64_t>("STOWAGE_SIM_DEVICE_MBPS", 1, kFastest, read.device_mbps);
  read_number<std::int64_t>("STOWAGE_SIM_HOST_MBPS", 1, kFastest, read.host_link_mbps);
  read_bytes("STOWAGE_SIM_DNN_WORKSPACE", 0, std::uint64_t{1} << 34, read.dnn_workspace_bytes);
  read_flag("STOWAGE_SIM_REAL_COPIES", read.real_copies);
  read_flag("STOWAGE_SIM_REPORT", read.report);
  read_flag("STOWAGE_SIM_VERBOSE", read.verbose);
  read_cupti(read);
  if (const char* name = std::getenv("STOWAGE_SIM_NAME"); name != nullptr && *name != '\0') read.name = name;
  return read;
}

const Settings& settings() {
  static const Settings* const kSettings = new Settings(load_settings());  // outlives every exit handler
  return *kSettings;
}

}  // namespace stowage::simulator
