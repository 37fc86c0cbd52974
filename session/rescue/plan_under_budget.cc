#include "session/rescue/plan_under_budget.h"

#include <algorithm>
#include <bit>
#include <string>

#include "session/ports/heap_margin.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kSettlingMarks = 3;  // iterations, then the arena does not fit
constexpr std::uint64_t kMostUncounted = 16;
// Iterations in a row in which rescue makes room though a plan serves: then the schedule is made for this
// share of the limit less.
constexpr std::uint64_t kDisturbedMarks = 4;
constexpr std::uint64_t kLessShare = 128;

SessionVerdict rescue_for(std::string reason) { return {SessionState::kRescuing, std::move(reason)}; }

}  // namespace

// ---- from one plan to the next

void PlanUnderBudget::prepare() {
  scheduled_.store(budget_.on() && budget_.schedule().follows(), std::memory_order_release);
  schedule_ = budget_.schedule().number();
  budget_.schedule().hold(true);
}

void PlanUnderBudget::rescue() {
  budget_.resume();
  budget_.schedule().hold(false);
  scheduled_.store(false, std::memory_order_release);
}

void PlanUnderBudget::leave() {
  budget_.resume();
  budget_.schedule().hold(false);
  if (scheduled_.exchange(false) && !budget_.schedule().is_steady()) budget_.schedule().stop();
}

// ---- whether it fits

SessionVerdict PlanUnderBudget::refuse(const JointPlan& plans) {
  if (!budget_.on()) return {};
  if (is_scheduled() && !budget_.schedule().follows()) return rescue_for({});
  if (is_scheduled() && excess_of(plans, lost_upstream()).value() != 0) lasting_.gather();
  const Bytes excess = excess_of(plans, std::min(lost_upstream(), page_margin(port_.ledger()->limit())));
  if (excess.value() != 0) return refuse_arena(plans.height, excess);
  if (budget_.between_ops()) return {};
  return rescue_for("a plan under a budget needs iterations that an optimizer or stowage.step() ends");
}

// Bytes that upstream keeps between tensors, or behind those that the last iteration passed on.
Bytes PlanUnderBudget::lost_upstream() const {
  return is_scheduled() ? port_.upstream_use().cached() : Bytes(0);
}

// Where pages come one by one, what the last iteration passed on goes before all of them are there. How much
// upstream cannot give back then, `lost` at most, nobody knows: that shows when it does not fit.
Bytes PlanUnderBudget::excess_of(const JointPlan& plans, Bytes lost) const {
  if (port_.commits_on_touch()) return Bytes(0);
  const Ledger& ledger = *port_.ledger();
  if (!port_.commits_in_parts()) return ledger.missing(plans.height);
  const Bytes sum = plans.height + arena_.staying_outside(plans) + lost;
  return saturating_sub(sum, ledger.limit());
}

// Under a schedule, one for fewer bytes may leave enough room.
SessionVerdict PlanUnderBudget::refuse_arena(Bytes arena_bytes, Bytes excess) {
  const Ledger& ledger = *port_.ledger();
  if (is_scheduled() && budget_.schedule().tighten(excess, ledger.limit())) return rescue_for({});
  return rescue_for("the plan's arena of " + std::to_string(arena_bytes.value()) +
                    " bytes does not fit into the budget of " + std::to_string(ledger.limit().value()) +
                    " bytes beside the " + std::to_string(ledger.upstream().value()) + " bytes outside it");
}

bool PlanUnderBudget::ask_for_less(Bytes excess) {
  return is_scheduled() && budget_.schedule().tighten(excess, port_.ledger()->limit());
}

SessionVerdict PlanUnderBudget::settle(std::uint32_t window_marks) {
  if (is_scheduled() && budget_.schedule().number() != schedule_) {
    drop_plans();
    return rescue_for({});
  }
  clear_arena();
  if (arena_.settles()) {
    port_.release_upstream_cache();
    if (!arena_.count_whole() && !(arena_.settled_before() && grow_budget() && arena_.count_whole())) {
      const bool may_fit = arena_.shortage().value() == 0;
      if (may_fit && is_of_no_kind()) return {};
      if (arena_.count_settling() < kSettlingMarks * window_marks && may_fit) return {};
      return leave_unsettled();
    }
  }
  uncounted_ = 0;
  rest();
  return {};
}

// What rescue offloaded for something off the plan, an evaluation say, came back into the arena, where the
// plan needs the places of what lasts for other things: rescue would have to make room in each iteration from
// then on.
void PlanUnderBudget::clear_arena() {
  if (!is_scheduled() || !budget_.evicted_on_demand() || !port_.commits_in_parts()) {
    disturbed_ = 0;
    return;
  }
  if (++disturbed_ % kDisturbedMarks == 0) ask_for_less(Bytes(port_.ledger()->limit().value() / kLessShare));
  if (!std::has_single_bit(disturbed_)) return;  // not often where it does not help
  arena_.give_up_free_parts();
  lasting_.gather();
}

// What an iteration without a schedule took beside the arena, and passed on, says nothing of the others.
bool PlanUnderBudget::is_of_no_kind() {
  return is_scheduled() && budget_.evicted_on_demand() && uncounted_++ < kMostUncounted;
}

SessionVerdict PlanUnderBudget::leave_unsettled() {
  const Bytes excess = arena_.shortage().value() != 0 ? arena_.shortage() : arena_.missing();
  drop_plans();
  return refuse_arena(arena_.mapped(), excess);
}

void PlanUnderBudget::drop_plans() {
  arena_.pause();
  arena_.shut_out();
  arena_.give_up_free_parts();
  facts_.forget_plans();
}

// Arena blocks are multiples of 512 bytes, so a plan may take slightly more than the heap did.
bool PlanUnderBudget::grow_budget() {
  return !is_scheduled() && budget_.raise_own_peak(port_.ledger()->upstream() + arena_.mapped());
}

// ---- while it is followed

void PlanUnderBudget::rest() {
  if (!arena_.settles() && !is_scheduled() && budget_.on() && budget_.may_rest()) budget_.rest();
}

bool PlanUnderBudget::give_up_free_parts(Bytes bytes) {
  if (evicts()) {
    arena_.settle_again();
  } else {
    arena_.pause();
    lost_ = true;
  }
  return arena_.give_up_free_parts(bytes).value() != 0;
}

}  // namespace stowage::session
