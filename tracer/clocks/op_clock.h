// The clock of one device's ops. On a CPU there is none: the host's time around an op's call is right there.
//
// Thread safety: every member may be called from any thread; start and stop of one op come from the same
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/activity.h"
#include "core/units.h"
#include "tracer/recorder/recorder.h"

namespace stowage::tracer {

/// What start() knows of an op, for stop(). Each clock uses the fields that it needs.
struct StartedOp {
  void* event = nullptr;
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
};

/// What a clock knows of the ops that have ended; and what else the device did, as Recorder::set_activities
/// takes it.
struct ClockReading {
  std::vector<OpTimes> ops;
  std::vector<Activity> activities;
  std::vector<std::string> names;
  ActivityLosses losses;
};

class OpClock {
 public:
  virtual ~OpClock() = default;
  /// Over how many iterations ops should be timed, so that a median means something.
  [[nodiscard]] virtual std::uint32_t iterations() const { return 1; }
  /// An op begins on the calling thread.
  virtual StartedOp start() = 0;
  /// That op ends. `op`: its name in the reading; kNoOp: it is not wanted.
  virtual void stop(const StartedOp& started, OpId op) = 0;
  /// The ops that ended and are timed by now. `may_wait`: the device may be waited for, so that all are.
  virtual ClockReading read(bool may_wait) = 0;
};

}  // namespace stowage::tracer
