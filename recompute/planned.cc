#include "recompute/planned.h"

#include <algorithm>
#include <utility>

#include "recompute/machine/machine.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

std::uint32_t Planned::record_next(std::unique_ptr<OpTimer> timer) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  return all.steps.record_next(std::move(timer));
}

std::optional<Result<StepLog>> Planned::take_log() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  return all.steps.take_log();
}

Status Planned::follow(Schedule schedule) {
  const bool ordered =
      std::is_sorted(schedule.actions.begin(), schedule.actions.end(),
                     [](const Action& a, const Action& b) { return a.op < b.op; }) &&
      (schedule.actions.empty() || schedule.actions.back().op < schedule.shape_hashes.size());
  if (!ordered)
    return Error{ErrorCode::kInvalidPlan,
                 "the schedule's actions are not in order of its ops; make it again"};
  Machine& all = machine();
  const Lock lock(all.mutex);
  all.steps.follower().follow(std::move(schedule));
  return {};
}

void Planned::leave() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  all.steps.follower().leave();
}

FollowCounters Planned::counts() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  return all.steps.follower().counts();
}

void Planned::note_memory(std::int64_t delta, std::uint64_t held) noexcept {
  ThreadState& thread = this_thread();
  const bool own = thread.quiet == 0 && thread.replaying == 0;
  if (own) thread.op_bytes += delta;
  machine().steps.meter.note(delta, held, own);
}

}  // namespace stowage::recompute
