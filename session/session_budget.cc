// Under a budget: when room is made by evicting, when a plan fits, and what becomes of a job that needs more.
//
// A job whose iterations evict something is not planned: what it allocates depends on what was evicted. After
// a few such iterations recording ends, and room is made for as long as that goes on. Under a schedule
// (budget/schedule_controller.h) what is evicted is the same in each iteration: such a job is recorded again
// and planned, with what it makes again.
#include <algorithm>
#include <string>

#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kEvictingMarks = 3;  // of one recording, then it ends
constexpr std::uint64_t kCalmMarks = 16;     // in a row, then the job is recorded again

}  // namespace

void Session::guards_placed() {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed) || state.busy.test_and_set(std::memory_order_acquire))
    return;  // the next mark begins it
  state.budget.begin(/*last_call=*/true);
  state.leave();
}

// A share of the peak is not a limit yet: who marks iterations will tell, or the allocations do.
void Session::State::watch_peak(Bytes live) {
  if (!peaks.on_alloc(live)) return;
  conduct([this] { budget.believe_peak(); });
}

bool Session::has_budget() const { return state_->budget.on(); }

bool Session::make_room(Bytes bytes) {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed)) return true;
  if (state.evicts_under_plan() && state.give_up_free_arena()) return true;
  if (state.budget.make_room(bytes) || state.give_up_free_arena()) return true;
  if (state.port.ledger()->missing(bytes).value() == 0) return true;
  return state.budget.await_others(bytes, /*refused=*/false) || state.budget.follow_peak(bytes);
}

bool Session::make_contiguous_room_upstream(Bytes bytes, const FreeSpace& space) {
  State& state = *state_;
  return !state.hot.forked.load(std::memory_order_relaxed) && state.budget.make_contiguous_room(bytes, space);
}

bool Session::make_room_upstream(Bytes bytes) {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed)) return false;
  if (state.budget.make_more_room(bytes)) return true;
  finish_frees();
  return state.give_up_free_arena() || state.budget.await_others(bytes, /*refused=*/true) ||
         state.budget.follow_peak(bytes);
}

std::string Session::explain_shortage(Bytes bytes, Bytes workspaces) const {
  State& state = *state_;
  Shortage shortage;
  shortage.wanted = bytes;
  shortage.workspaces = workspaces;
  const Bytes arena = arena_bytes();
  shortage.idle_arena = arena - std::min(arena, arena_live_bytes());
  const UpstreamUse use = state.port.upstream_use();
  shortage.cached = use.reserved - std::min(use.reserved, use.allocated);
  return state.budget.explain(shortage);
}

// True if anything was evicted in the iteration that ended, beyond what a schedule says. While recording,
// that iteration is forgotten.
bool Session::State::mark_under_budget(MarkSource source) {
  const bool evicted = budget.on_mark(source);
  const SessionState now = state.load(std::memory_order_relaxed);
  if (budget.on()) port.even_out(evicted, now == SessionState::kPlanned);
  if (now == SessionState::kRescuing || (evicted && now == SessionState::kRecording)) note_before();
  if (!evicted || now != SessionState::kRecording) return evicted;
  arena.give_back();
  recording.stop_ops();
  recording.forget();
  if (++evicting_marks >= kEvictingMarks) begin_rescuing({});
  return true;
}

// With a `reason`, for good.
void Session::State::begin_rescuing(const std::string& reason) {
  arena.pause();
  recording.stop();
  budget.resume();
  budget.schedule().hold(false);
  scheduled.store(false, std::memory_order_release);
  evicting_marks = calm_marks = 0;
  facts.give_reason(reason);
  state.change(SessionState::kRescuing, reason.empty() ? "iterations evict" : reason);
  note(1, "the budget is held by evicting and recomputing" + (reason.empty() ? reason : " (" + reason + ")"));
}

void Session::State::rescuing_mark(bool evicted) {
  arena.give_back();
  calm_marks = evicted ? 0 : calm_marks + 1;
  const ScheduleController& schedule = budget.schedule();
  if (calm_marks < (schedule.is_steady() ? 1 : kCalmMarks)) return;
  if ((schedule.follows() && !schedule.has_arena()) || facts.has_reason()) return;
  evicting_marks = 0;
  state.change(SessionState::kRecording, "iterations are alike again");
  start_recording();
}

bool Session::State::refuse_plan(const Plan& plan) {
  if (!budget.on()) return false;
  if (scheduled.load(std::memory_order_relaxed) && !budget.schedule().follows())
    return begin_rescuing({}), true;
  const Bytes excess = port.ledger()->missing(plan.height);
  if (excess.value() != 0 && !port.commits_on_touch()) return refuse_arena(plan.height, excess), true;
  if (budget.between_ops()) return false;
  begin_rescuing("a plan under a budget needs iterations that an optimizer or stowage.step() ends");
  return true;
}

// Where a schedule is followed, one for less may leave the room.
void Session::State::refuse_arena(Bytes arena_bytes, Bytes excess) {
  const Ledger& ledger = *port.ledger();
  if (scheduled.load(std::memory_order_relaxed) && budget.schedule().tighten(excess, ledger.limit()))
    return begin_rescuing({});
  begin_rescuing("the plan's arena of " + std::to_string(arena_bytes.value()) +
                 " bytes does not fit into the budget of " + std::to_string(ledger.limit().value()) +
                 " bytes beside the " + std::to_string(ledger.upstream().value()) + " bytes outside it");
}

}  // namespace stowage::session
