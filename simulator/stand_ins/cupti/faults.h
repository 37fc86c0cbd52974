// What goes wrong in the simulated CUPTI on purpose, so that its clients' behaviour can be tested
// (STOWAGE_SIM_CUPTI_ERRORS, STOWAGE_SIM_CUPTI_FAULTS).
//
// Thread safety: any thread.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "simulator/device/settings/settings.h"

namespace stowage::simulator {

/// In the order of kCuptiFaults.
enum class CuptiFault : std::uint8_t { kDrop, kUntimed, kReversed, kUnknown };

class CuptiFaults {
 public:
  /// What `function` answers on purpose; CUPTI_SUCCESS: nothing is wrong with it.
  [[nodiscard]] CUptiResult answer(const char* function) const;
  /// It is the turn of a fault; counts the times that this was asked.
  bool strikes(CuptiFault fault);

 private:
  std::array<std::atomic<std::uint64_t>, kCuptiFaults.size()> asked_{};
};

CuptiFaults& cupti_faults();

}  // namespace stowage::simulator
