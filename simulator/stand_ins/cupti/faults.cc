#include "simulator/stand_ins/cupti/faults.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

namespace stowage::simulator {
namespace {

constexpr std::array kFaultNames{"drop", "untimed", "reversed", "unknown"};

[[noreturn]] void refuse(const char* variable, const std::string& value, const char* allowed) {
  std::fprintf(stderr, "stowage simulator: %s=%s is not valid: give %s\n", variable, value.c_str(), allowed);
  std::_Exit(2);
}

// "name:number,name:number".
std::vector<std::pair<std::string, int>> read_pairs(const char* variable, const char* allowed) {
  std::vector<std::pair<std::string, int>> pairs;
  const char* const value = std::getenv(variable);
  std::istringstream text(value == nullptr ? "" : value);
  for (std::string word; std::getline(text, word, ',');) {
    const std::size_t colon = word.find(':');
    const bool digits = colon != std::string::npos && colon + 1 < word.size() &&
                        word.find_first_not_of("0123456789", colon + 1) == std::string::npos;
    if (!digits || word.size() - colon > 7) refuse(variable, value, allowed);
    pairs.emplace_back(word.substr(0, colon), std::stoi(word.substr(colon + 1)));
  }
  return pairs;
}

}  // namespace

CuptiFaults::CuptiFaults() {
  for (const auto& [function, code] :
       read_pairs("STOWAGE_SIM_CUPTI_ERRORS", "functions with codes, such as cuptiSubscribe:39"))
    answers_[function] = code;
  constexpr const char* kAllowed = "drop, untimed, reversed or unknown, each with a number, such as drop:3";
  for (const auto& [name, every] : read_pairs("STOWAGE_SIM_CUPTI_FAULTS", kAllowed)) {
    bool known = false;
    for (std::size_t fault = 0; fault < kFaultNames.size(); ++fault) {
      if (name != kFaultNames[fault]) continue;
      every_[fault] = static_cast<std::uint64_t>(every);
      known = true;
    }
    if (!known) refuse("STOWAGE_SIM_CUPTI_FAULTS", name, kAllowed);
  }
}

CUptiResult CuptiFaults::answer(const char* function) const {
  const auto found = answers_.find(function);
  return found == answers_.end() ? CUPTI_SUCCESS : static_cast<CUptiResult>(found->second);
}

bool CuptiFaults::strikes(CuptiFault fault) {
  const auto index = static_cast<std::size_t>(fault);
  if (every_[index] == 0) return false;
  return (asked_[index].fetch_add(1) + 1) % every_[index] == 0;
}

CuptiFaults& cupti_faults() {
  static auto* const faults = new CuptiFaults;
  return *faults;
}

}  // namespace stowage::simulator
