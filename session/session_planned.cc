// Planned: what follows the plan, what does not, and what is learned from that.
//
// A kind of iteration that diverged gets a plan of its own, made in the background beside the others
// (recording/learner.h). If nothing can be learned and iterations go on diverging, recording begins anew;
// after max_replans times Stowage stays out of the way.
#include <algorithm>
#include <chrono>
#include <utility>

#include "allocator/backend.h"
#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
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
  note_reserved(use.reserved);
  if (now.counts().iterations == before.iterations) return;
  if (now.counts().last_iteration_misses == 0) note_lasting(outside);
  end_iteration();
}

void Session::State::end_iteration() {
  const allocator::ServeCounts counts = arena.allocator().counts();
  const std::uint64_t made = requests(counts) - requests_before;
  const std::uint64_t missed = counts.last_iteration_misses;
  requests_before = requests(counts);
  if (counts.iterations == 1) {  // until now upstream still held what the arena serves: no peaks of the job's
    arena.allocator().reset_peak();
    reserved_after.store(0, std::memory_order_relaxed);
    note_reserved(port.upstream_use().reserved);
  }
  if (missed != 0)
    note(2, "iteration with " + std::to_string(missed) + " of " + std::to_string(made) +
                " requests off the plan");
  // Where the arena went without memory, upstream may be what has it now.
  if (missed != 0 && arena.lacks_memory()) release_upstream();
  if (is_strained(missed == 0)) return back_to_recording();
  const Bytes reserved(reserved_in_iteration.load(std::memory_order_relaxed));
  if (leave_oversized(missed == 0)) return;
  take_background_plan(std::chrono::milliseconds(0));
  take_improved_plan();
  if (std::optional<Trace> trace = learner.on_iteration(missed != 0, background))
    plan_beside(std::move(*trace));
  learner.rest(missed != 0, background);
  watch_outstayed(missed == 0, reserved);
  const bool diverged = static_cast<double>(missed) > settings.miss_tolerance * static_cast<double>(made);
  diverged_streak = diverged ? diverged_streak + 1 : 0;
  if (diverged_streak >= settings.diverged_iterations && !background) back_to_recording();
}

void Session::State::begin_learning() {
  learner.begin();
  if (scheduled.load(std::memory_order_relaxed))
    learner.close();  // other iterations are as rescue makes them
  settled_iterations = oversized_iterations = strain = 0;
  arena_lacks = false;
  outstayed.restart();
  diverged_streak = requests_at_mark = 0;
  requests_before = requests_at_mark = requests(arena.allocator().counts());
}

void Session::State::plan_beside(Trace trace) {
  planner::PlanOptions options;
  options.work_limit = settings.plan_work;
  options.time_limit_s = settings.plan_seconds;
  for (std::size_t i = first_active; i < known_plans.size(); ++i) options.siblings.push_back(&known_plans[i]);
  if (!plans) plans = make_plan_source(settings.fault);
  if (!plans->submit(std::move(trace), std::move(options)))
    return learner.close();  // the plans we have stay as they are
  background = true;
  improving = false;
  take_background_plan(std::chrono::milliseconds(settings.plan_wait_ms));
}

void Session::State::take_background_plan(std::chrono::milliseconds wait) {
  if (!background || arena.settles()) return;
  std::optional<Result<Plan>> made = plans->poll(wait);
  if (!made) return;
  background = false;
  allocator::PlannedAllocator& now = arena.allocator();
  if (!made->ok()) return note(1, "no plan for a further kind of iteration: " + made->error().message);
  if (Status added = now.add_plan(**made); !added) {
    note(1, "no room for a further plan: " + added.error().message);
    learner.close();
    return;
  }
  arena.watch_memory(arena.lacks_memory());
  known_plans.push_back(**made);
  facts.add_plan(**made, /*first=*/false);
  note(1,
       "a further kind of iteration is planned: " + std::to_string((*made)->entries.size()) + " allocations");
  diverged_streak = settled_iterations = oversized_iterations = 0;
  if (known_plans.size() - first_active >= settings.max_plans) learner.close();
}

// The placement in use was taken since it is good enough; a search for a lower one goes on where that may
// save memory.
void Session::State::begin_improving(const Plan& plan) {
  improving = false;
  const auto pages = [&](Bytes height) { return allocator::round_up_to(height, port.arena_page()); };
  if (budget.on() || from_cache || pages(plan.lower_bound) >= pages(plan.height)) return;
  const std::shared_ptr<const Trace> trace = facts.trace();
  planner::PlanOptions options;
  options.work_limit = settings.plan_work;
  options.time_limit_s = settings.plan_seconds;
  improving = trace && plans && plans->submit(*trace, std::move(options)).ok();
}

// Exchanged in place: what lives in the arena stays, and slots that it lies in the way of are misses once.
void Session::State::take_improved_plan() {
  if (!improving || background) return;
  std::optional<Result<Plan>> made = plans->poll(std::chrono::milliseconds(0));
  if (!made) return;
  improving = false;
  const Plan& now = known_plans.back();
  if (!made->ok() || known_plans.size() - first_active != 1 || !port.may_wait()) return;
  if (arena.allocator().arena().mapped() <= allocator::round_up_to((*made)->height, port.arena_page()))
    return;
  if ((*made)->height >= now.height || !arena.allocator().replace_plans({**made})) return;
  known_plans.push_back(**made);
  first_active = known_plans.size() - 1;
  facts.add_plan(**made, /*first=*/true);
  arena.allocator().decommit_idle(Offset((*made)->height.value()));
  arena.watch_memory(true);
  settled_iterations = 0;
  note(1, "a lower placement is used: " + std::to_string((*made)->height.value()) + " bytes");
}

void Session::State::back_to_recording() {
  arena.pause();
  if (plans) plans->cancel();
  background = improving = false;
  if (arena.exists()) arena.shut_out();
  if (budget.on() && arena.exists()) arena.give_up_free_parts();
  const std::uint64_t times = facts.count_replan();
  if (times > settings.max_replans) {
    return turn_off("the job left its plan for the " + std::to_string(times) + ". time", true);
  }
  note(1, "the job left its plan; recording again");
  budget.resume();
  budget.schedule().hold(false);
  if (scheduled.exchange(false) && !budget.schedule().is_steady()) budget.schedule().stop();
  state.store(SessionState::kRecording, std::memory_order_release);
  if (!budget.on()) arena.give_back();
  start_recording();
}

}  // namespace stowage::plugin
