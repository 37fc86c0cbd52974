// What goes wrong in the simulated CUPTI on purpose, so that its clients' behaviour can be tested.
//
// STOWAGE_SIM_CUPTI_ERRORS=cuptiSubscribe:39,cuptiActivityEnable:35: these functions answer these codes.
// STOWAGE_SIM_CUPTI_FAULTS=drop:3,untimed:5,reversed:7,unknown:9: every third request for a buffer is taken
// as declined, every fifth kernel has no times, every seventh ends before it begins, and behind every ninth
// record stands one of an unknown kind. Thread safety: any thread.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace stowage::simulator {

enum class CuptiFault : std::uint8_t { kDrop, kUntimed, kReversed, kUnknown };

class CuptiFaults {
 public:
  /// From the environment; a wrong value ends the process with status 2, as other settings do.
  CuptiFaults();
  /// What `function` answers on purpose; CUPTI_SUCCESS: nothing is wrong with it.
  [[nodiscard]] CUptiResult answer(const char* function) const;
  /// It is the turn of a fault; counts the times that this was asked.
  bool strikes(CuptiFault fault);

 private:
  std::map<std::string, int> answers_;
  std::array<std::uint64_t, 4> every_{};  ///< 0: never
  std::array<std::atomic<std::uint64_t>, 4> asked_{};
};

CuptiFaults& cupti_faults();

}  // namespace stowage::simulator
