// Planned: what follows the plan, what does not, and what is learned from that.
//
// A kind of iteration that diverged gets a plan of its own, made in the background beside the others
// (recording/learner.h). If nothing can be learned and iterations go on diverging, recording begins anew;
// after max_replans times Stowage stays out of the way.
#include <algorithm>
#include <chrono>
#include <utility>

#include "allocator/arena/backend.h"
#include "session/session_state.h"
#include "session/settings/notice.h"
#include "session/settings/phrases.h"

namespace stowage::session {
namespace {

std::uint64_t requests(const allocator::ServeCounts& counts) {
  std::uint64_t sum = counts.hits + counts.planned_upstream;
  for (const std::uint64_t misses : counts.misses) sum += misses;
  return sum;
}

}  // namespace

void Session::State::planned_mark(MarkSource source) {
  const bool schedule_left = scheduled.load(std::memory_order_relaxed) && !budget.schedule().follows();
  if (plan_left || schedule_left) return back_to_recording();
  if (!settle()) return;
  arena.shrink_former();
  allocator::PlannedAllocator& now = arena.allocator();
  const allocator::ServeCounts before = now.counts();
  if (requests(before) == requests_at_mark)
    return;  // nothing was allocated: no mark to the recorder, none here
  requests_at_mark = requests(before);
  now.on_mark();
  if (recording.is_on()) recording.recorder().on_mark(source);
  learner.on_mark();
  const UpstreamUse use = port.upstream_use();
  const Bytes outside = arena.outside_bytes(use);
  now.set_outside_bytes(outside);
  guard.note_reserved(use.reserved);
  if (now.counts().iterations == before.iterations) return;
  if (now.counts().last_iteration_misses == 0) guard.note_lasting(outside);
  end_iteration();
}

void Session::State::end_iteration() {
  const allocator::ServeCounts counts = arena.allocator().counts();
  const std::uint64_t made = requests(counts) - requests_before;
  const std::uint64_t missed = counts.last_iteration_misses;
  requests_before = requests(counts);
  if (counts.iterations == 1) {  // until now upstream still held what the arena serves: no peaks of the job's
    arena.allocator().reset_peak();
    guard.reset_peak();
  }
  if (missed != 0)
    note(2, "iteration with " + std::to_string(missed) + " of " + std::to_string(made) +
                " requests off the plan");
  // Where the arena went without memory, upstream may be what has it now.
  if (missed != 0 && arena.lacks_memory()) room.release_upstream();
  if (room.is_strained(missed == 0)) {
    note(1, "the arena gives memory back for other requests in too many iterations");
    plans.forget_kept();
    return back_to_recording();
  }
  const Bytes reserved = guard.reserved_in_iteration();
  if (leave_oversized(missed == 0)) return;
  take_further_plan(std::chrono::milliseconds(0));
  take_lower_plan();
  if (std::optional<Trace> trace = learner.on_iteration(missed != 0, plans.makes_further()))
    plan_beside(std::move(*trace));
  learner.rest(missed != 0, plans.makes_further());
  watch_outstayed(missed == 0, reserved);
  const bool diverged = static_cast<double>(missed) > settings.miss_tolerance * static_cast<double>(made);
  diverged_streak = diverged ? diverged_streak + 1 : 0;
  if (diverged_streak >= settings.diverged_iterations && !plans.makes_further()) back_to_recording();
}

void Session::State::begin_learning() {
  learner.begin();
  if (scheduled.load(std::memory_order_relaxed))
    learner.close();  // other iterations are as rescue makes them
  guard.restart();
  room.restart();
  outstayed.restart();
  diverged_streak = requests_at_mark = 0;
  requests_before = requests_at_mark = requests(arena.allocator().counts());
}

void Session::State::plan_beside(Trace trace) {
  if (!plans.make_beside(std::move(trace))) return learner.close();  // the plans we have stay as they are
  learner.accept();
  take_further_plan(std::chrono::milliseconds(settings.plan_wait_ms));
}

void Session::State::take_further_plan(std::chrono::milliseconds wait) {
  if (!plans.makes_further() || arena.settles()) return;
  std::optional<Result<Plan>> made = plans.poll(wait);
  if (!made) return;
  if (!made->ok()) return note(1, "no plan for a further kind of iteration: " + made->error().message);
  if (Status added = arena.allocator().add_plan(**made); !added) {
    note(1, "a further plan does not fit into the arena: " + added.error().message);
    return learner.close();
  }
  arena.watch_memory(arena.lacks_memory());
  plans.use_beside(**made);
  facts.add_plan(**made, /*first=*/false);
  note(1,
       "a further kind of iteration is planned: " + std::to_string((*made)->entries.size()) + " allocations");
  diverged_streak = 0;
  guard.restart();
  if (plans.count_in_use() >= settings.max_plans) learner.close();
}

// The placement in use was taken since it is good enough; a search for a lower one goes on where that may
// save memory.
void Session::State::make_lower(const Plan& plan) {
  const auto pages = [&](Bytes height) { return allocator::round_up_to(height, port.arena_page()); };
  if (budget.on() || guard.trusts_plan() || pages(plan.lower_bound) >= pages(plan.height)) return;
  if (const std::shared_ptr<const Trace> trace = facts.trace()) plans.make_lower(*trace);
}

// Exchanged in place: what lives in the arena stays, and slots that it lies in the way of are misses once.
void Session::State::take_lower_plan() {
  if (!plans.makes_lower()) return;
  std::optional<Result<Plan>> made = plans.poll(std::chrono::milliseconds(0));
  if (!made || !made->ok() || plans.count_in_use() != 1 || !port.may_wait()) return;
  const Bytes height = (*made)->height;
  if (arena.mapped() <= allocator::round_up_to(height, port.arena_page())) return;
  if (height >= plans.last().height || !arena.allocator().replace_plans({**made})) return;
  plans.use_only(**made);
  facts.add_plan(**made, /*first=*/true);
  arena.allocator().decommit_idle(Offset(height.value()));
  arena.watch_memory(true);
  guard.settle_anew();
  note(1, "a lower placement is used: " + std::to_string(height.value()) + " bytes");
}

void Session::State::back_to_recording() {
  arena.pause();
  plans.cancel();
  if (arena.exists()) arena.shut_out();
  if (budget.on() && arena.exists()) arena.give_up_free_parts();
  const std::uint64_t times = facts.count_replan();
  if (times > settings.max_replans) {
    return turn_off("the job left its plan for the " + ordinal(times) + " time", true);
  }
  note(1, "the job left its plan; recording again");
  budget.resume();
  budget.schedule().hold(false);
  if (scheduled.exchange(false) && !budget.schedule().is_steady()) budget.schedule().stop();
  state.change(SessionState::kRecording, "the plan was left");
  if (!budget.on()) arena.give_back();
  start_recording();
}

}  // namespace stowage::session
