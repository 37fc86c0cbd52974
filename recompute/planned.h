// The interface for schedules: one iteration is logged, a scheduler makes a schedule from it, and the
// runtime follows that schedule.
//
//   Planned::record_next();
//   Runtime::end_iteration();  …one iteration…  Runtime::end_iteration();
//   auto log = Planned::take_log();
//   Planned::follow(schedule made from it);   // from the next end_iteration() on
//
// Anything that a schedule does not cover is as without one: what an op reads is restored before it, and an
// allocation that finds no room may still call Runtime::make_room().
//
// Thread safety: every function, from any thread. Requires: Runtime is installed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/result.h"
#include "core/runtime/runtime_counters.h"
#include "core/step_log.h"
#include "recompute/schedule/op_timer.h"

namespace stowage::recompute {

class Planned {
 public:
  /// Logs the iteration that begins with the next Runtime::end_iteration(); with a `timer`, as many as that
  /// wants, for ops' times on their device. Returns how many that will be.
  static std::uint32_t record_next(std::unique_ptr<OpTimer> timer = nullptr);
  /// The log of the last of them, once. Error: kUnplannable if it cannot be planned from.
  static std::optional<Result<StepLog>> take_log();

  /// Follows `schedule` from the next iteration on, in iterations of its ops, beside those for other ops;
  /// replaces one for the same. Error: kInvalidPlan if its actions are out of order.
  static Status follow(Schedule schedule);
  /// Stops following any.
  static void leave();
  static FollowCounters counts();

  /// For an allocator: `delta` bytes were taken (below 0: given back), `held` are held now, in the units in
  /// which a budget counts. Cheap; may be called with the allocator's own lock held. Without it a log knows
  /// nothing of workspaces and of memory that no op made.
  static void note_memory(std::int64_t delta, std::uint64_t held) noexcept;
};

}  // namespace stowage::recompute
