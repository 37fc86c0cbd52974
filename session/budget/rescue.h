// The runtime that evicts and recomputes, as sessions see it: in a form that knows nothing of torch, so that
// they are tested without it. torch_rescue.cc is what stands behind it in a real process.
//
// There is one runtime for all sessions of a process: it is installed while at least one of them uses it, and
// only where Python's guards (python/stowage/_guards.py) can be placed before it, since a pointer that Python
// hands out unseen would be read after the memory is gone.
// Thread safety: any thread. Python is never called with a lock of ours held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/device.h"
#include "core/free_space.h"
#include "core/result.h"
#include "core/runtime_counters.h"
#include "core/shortage.h"
#include "core/step_log.h"
#include "core/units.h"

namespace stowage::plugin {

/// `device` is always the one that is short.
struct RescueDriver {
  Status (*install)() = nullptr;
  void (*uninstall)() = nullptr;  ///< throws what recomputation throws
  void (*end_iteration)() = nullptr;
  bool (*make_room)(Bytes bytes, Device device) = nullptr;  ///< true: something was freed
  /// One contiguous piece; true: something was evicted for it.
  bool (*make_piece)(Bytes bytes, Device device, const FreeSpace& space) = nullptr;
  /// Empty: the job will not see the error.
  std::string (*explain)(const Shortage& shortage, Device device) = nullptr;
  RuntimeCounters (*counts)() = nullptr;
  // What follows schedules: as recompute/planned.h says.
  void (*note_memory)(std::int64_t delta, std::uint64_t held) = nullptr;  ///< throws nothing
  void (*record_next)() = nullptr;
  std::optional<Result<StepLog>> (*take_log)() = nullptr;
  Status (*follow)(const Schedule& schedule) = nullptr;
  void (*leave)() = nullptr;
  FollowCounters (*follow_counts)() = nullptr;
  /// Bytes that the job would hold beside what is held, were nothing evicted. Nothing while the calling
  /// thread recomputes: what is held then is not the job's alone. May be null: none are ever away.
  std::optional<std::int64_t> (*away)() = nullptr;
  /// Threads of the job that are in an iteration. May be null: the caller's alone.
  std::uint64_t (*threads)() = nullptr;
};
/// Used by every session from now on. Requires: it lives as long as the process.
void set_rescue_driver(const RescueDriver* driver);
/// The driver; never null: without one, every function does nothing and installing is an error.
const RescueDriver& rescue_driver();

/// Places (1) or removes (0) Python's guards, which are there as long as one more was placed than removed; 2
/// after 1: the runtime is installed, and is to hear of memory that was lent before. 0 for success.
using GuardPlacer = int (*)(int place);
/// Python is there. Called before sessions are made, or later: those that wait for it begin then.
void set_guard_placer(GuardPlacer placer);
[[nodiscard]] bool guards_are_known();

/// One more session needs the runtime; the first one installs it, behind its guards. Error: it cannot be.
Status begin_rescue();
/// One session fewer. Throws as uninstall does; then the session still has it.
void end_rescue();

}  // namespace stowage::plugin
