// When the arena is given up, given back or counted as a whole (arena/served_arena.h says how).
#include "session/session_state.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kSettlingMarks = 3;  // iterations, then the arena does not fit

}  // namespace

// At an iteration's end. False: the arena does not fit, and the plan is left.
bool Session::State::settle() {
  if (arena.settles()) {
    port.release_upstream_cache();
    if (!arena.count_whole() && !(arena.settled_before() && grow_budget() && arena.count_whole())) {
      if (arena.count_settling() < kSettlingMarks * window_marks) return true;
      leave_unsettled();
      return false;
    }
  }
  rest_under_plan();
  return true;
}

void Session::State::leave_unsettled() {
  const Bytes excess = arena.missing();
  arena.pause();
  arena.shut_out();
  arena.give_up_free_parts();
  facts.forget_plans();
  refuse_arena(arena.mapped(), excess);
}

bool Session::State::evicts_under_plan() const {
  return scheduled.load(std::memory_order_acquire) || arena.settling() != nullptr;
}

// In the arena tensors lie in blocks of 512 bytes, so that a plan may take a little more than the heap did.
bool Session::State::grow_budget() {
  return !scheduled.load(std::memory_order_relaxed) &&
         budget.raise_own_peak(port.ledger()->upstream() + arena.mapped());
}

// Without a schedule a plan that fits needs no runtime.
void Session::State::rest_under_plan() {
  if (!arena.settles() && !scheduled.load(std::memory_order_relaxed) && budget.on() && budget.may_rest())
    budget.rest();
}

// A request that the plan does not know needs room. While the runtime is there the plan goes on with what is
// left, and the arena is counted as a whole again when there is room; without it, nobody evicts: the plan is
// left.
bool Session::State::give_up_free_arena() {
  if (!arena.exists()) return false;
  if (busy.test_and_set(std::memory_order_acquire)) return false;  // inside a mark
  bool gave = false;
  if (arena.exists()) {
    if (!evicts_under_plan()) {
      arena.pause();
      plan_left = true;
    } else {
      arena.settle_again();
    }
    gave = arena.give_up_free_parts().value() != 0;
  }
  leave();
  return gave;
}

void Session::give_back_idle() {
  finish_frees();
  state_->conduct([this] { state_->give_back_unused(); });
}

// Who follows a plan keeps the arena's addresses.
void Session::State::give_back_unused() {
  if (state.load() != SessionState::kPlanned) return arena.give_back();
  arena.shrink_former_now();
  if (arena.exists()) arena.give_back_idle();
}

}  // namespace stowage::session
