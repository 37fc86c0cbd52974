#include "simulator/stand_ins/cupti/faults.h"

namespace stowage::simulator {

CUptiResult CuptiFaults::answer(const char* function) const {
  const auto found = settings().cupti_errors.find(function);
  return found == settings().cupti_errors.end() ? CUPTI_SUCCESS : static_cast<CUptiResult>(found->second);
}

bool CuptiFaults::strikes(CuptiFault fault) {
  const auto index = static_cast<std::size_t>(fault);
  const auto found = settings().cupti_faults.find(kCuptiFaults[index]);
  if (found == settings().cupti_faults.end()) return false;
  return (asked_[index].fetch_add(1) + 1) % static_cast<std::uint64_t>(found->second) == 0;
}

CuptiFaults& cupti_faults() {
  static auto* const faults = new CuptiFaults;
  return *faults;
}

}  // namespace stowage::simulator
