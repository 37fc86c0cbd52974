// Under a budget: when room is made by evicting, when a plan fits, and what becomes of a job that needs more.
//
// A job whose iterations evict something is not planned: what it allocates depends on what was evicted. After
// a few such iterations recording ends, and room is made for as long as that goes on.
#include <algorithm>
#include <string>

#include "plugin/notice.h"
#include "plugin/session_state.h"

namespace stowage::plugin {
namespace {

constexpr std::uint64_t kEvictingMarks = 3;  // of one recording, then it ends
constexpr std::uint64_t kCalmMarks = 16;     // in a row, then the job is recorded again

}  // namespace

void Session::guards_placed() {
  State& state = *state_;
  if (state.forked.load(std::memory_order_relaxed) || state.busy.test_and_set(std::memory_order_acquire))
    return;  // the next mark begins it
  state.budget.begin(/*last_call=*/true);
  state.leave();
}

bool Session::make_room(Bytes bytes) {
  State& state = *state_;
  if (state.forked.load(std::memory_order_relaxed)) return true;
  if (state.budget.make_room(bytes) || state.give_up_free_arena()) return true;
  return state.port.ledger()->missing(bytes).value() == 0;
}

bool Session::make_room_upstream(Bytes bytes) {
  State& state = *state_;
  if (state.forked.load(std::memory_order_relaxed)) return false;
  return state.budget.make_more_room(bytes) || state.give_up_free_arena();
}

std::string Session::explain_shortage(Bytes bytes) const { return state_->budget.explain(bytes); }

// True if anything was evicted in the iteration that ended. While recording, that iteration is forgotten.
bool Session::State::mark_under_budget(MarkSource source) {
  const bool evicted = budget.on_mark(source);
  if (evicted || state.load(std::memory_order_relaxed) == SessionState::kRescuing) note_before();
  if (!evicted || state.load(std::memory_order_relaxed) != SessionState::kRecording) return evicted;
  give_back_arena();
  stop_ops();
  recorders.back()->clear();
  recorded_marks = 0;
  if (++evicting_marks >= kEvictingMarks) begin_rescuing({});
  return true;
}

// With a `reason`, for good.
void Session::State::begin_rescuing(const std::string& reason) {
  serving.store(nullptr, std::memory_order_release);
  stop_recording();
  budget.resume();
  evicting_marks = calm_marks = 0;
  {
    const std::lock_guard lock(facts_mutex);
    if (facts.reason.empty()) facts.reason = reason;
  }
  state.store(SessionState::kRescuing, std::memory_order_release);
  note(1, "the budget is held by evicting and recomputing" + (reason.empty() ? reason : " (" + reason + ")"));
}

void Session::State::rescuing_mark(bool evicted) {
  give_back_arena();
  calm_marks = evicted ? 0 : calm_marks + 1;
  if (calm_marks < kCalmMarks) return;
  {
    const std::lock_guard lock(facts_mutex);
    if (!facts.reason.empty()) return;
  }
  evicting_marks = 0;
  state.store(SessionState::kRecording, std::memory_order_release);
  start_recording();
}

bool Session::State::refuse_plan(const Plan& plan) {
  if (!budget.on()) return false;
  const Ledger& ledger = *port.ledger();
  const bool fits = ledger.missing(plan.height).value() == 0;
  if (fits && budget.may_rest()) return false;
  if (fits && budget.between_ops()) return begin_rescuing({}), true;
  if (fits)
    return begin_rescuing("a plan under a budget needs iterations that an optimizer or stowage.step() ends"),
           true;
  begin_rescuing("the plan's arena of " + std::to_string(plan.height.value()) +
                 " bytes does not fit beside " + std::to_string(ledger.upstream().value()) +
                 " bytes into the budget of " + std::to_string(ledger.limit().value()));
  return true;
}

// A request that the plan does not know needs room: what nobody uses of the arena goes back, and with it the
// plan. What is in use stays where it is until it is freed.
bool Session::State::give_up_free_arena() {
  if (owner.load(std::memory_order_acquire) == nullptr) return false;
  if (busy.test_and_set(std::memory_order_acquire)) return false;  // inside a mark
  bool gave = false;
  if (allocator::PlannedAllocator* const now = owner.load(); now != nullptr && arena != nullptr) {
    serving.store(nullptr, std::memory_order_release);
    plan_left = true;
    auto* const base = static_cast<std::byte*>(arena->base());
    std::uint64_t at = 0;
    Bytes freed{0};
    const auto decommit_until = [&](std::uint64_t end) {
      if (end > at) freed += port.decommit(base + at, Bytes(end - at));
    };
    for (const allocator::ArenaBlock& block : now->live_blocks()) {
      decommit_until(block.offset.value());
      at = std::max(at, block.offset.value() + block.rounded.value());
    }
    decommit_until(arena->mapped().value());
    const Bytes kept = arena->mapped() - freed;
    gave = kept < arena->charged();
    arena->uncharge(kept);
  }
  leave();
  return gave;
}

}  // namespace stowage::plugin
