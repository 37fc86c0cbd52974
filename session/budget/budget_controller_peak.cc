// BudgetController: a limit that goes by the job's own peak, or by what it cannot do without.
#include <algorithm>
#include <string>

#include "session/budget/budget_controller.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr std::uint32_t kFreeMarks = 2;        // the first iteration has no optimizer state yet
constexpr std::uint32_t kFreePeriodMarks = 3;  // the first of these may lie anywhere in an iteration
// For a share of 100%: enough iterations to record the job without evictions, and to plan it as without a
// budget.
constexpr std::uint32_t kFreeMarksThatFit = 4;
constexpr std::uint64_t kRoundingShare =
    64;  // share of the own peak by which blocks of 512 bytes may exceed the heap's
constexpr double kSpareRoom = 1.125;  // factor by which an estimated peak is raised

}  // namespace

void BudgetController::learn_peak(MarkSource source) {
  const std::uint32_t few = source == MarkSource::kPeriod ? kFreePeriodMarks : kFreeMarks;
  if (++free_marks_ < (leaves_all() ? kFreeMarksThatFit : few)) return;
  own_peak_ = ledger_->peak_held().value();
  set_limit(budget_.limit_of(Bytes(own_peak_.load())));
}

void BudgetController::believe_peak() {
  if (!pending() || !budget_.needs_peak()) return;
  believed_ = true;
  own_peak_ = ledger_->peak_held().value();
  set_limit(budget_.limit_of(Bytes(own_peak_.load())));
}

// Held, evicted and requested bytes together are what the job would hold without a budget.
void BudgetController::note_demand(Bytes bytes) noexcept {
  if (budget_.kind() != Budget::Kind::kShareOfPeak) return;
  const Bytes held = ledger_->held() + bytes;
  if ((held + torch_.counters().away()).value() <= demand_.load()) return;
  const std::optional<std::int64_t> away = torch_.bytes_away();
  if (!away) return;
  const auto demand = static_cast<std::int64_t>(held.value()) + *away;
  if (demand > static_cast<std::int64_t>(demand_.load())) demand_ = static_cast<std::uint64_t>(demand);
}

bool BudgetController::follow_peak(Bytes bytes) noexcept {
  const std::uint64_t known = own_peak_.load();
  const std::uint64_t demand = demand_.load();
  if (known == 0 || !ledger_->limited()) return false;
  if (budget_.kind() == Budget::Kind::kLeast) return raise_least(bytes);
  if (demand > known + known / kRoundingShare) {
    raise_peak(demand);
    return true;
  }
  if (!believed_.load()) return false;
  const double share = static_cast<double>(ledger_->limit().value()) / static_cast<double>(known);
  const double needed = static_cast<double>((ledger_->held() + bytes).value());
  raise_peak(static_cast<std::uint64_t>(needed * kSpareRoom / share));
  if (!soft_.exchange(true))
    warn("the budget of " + budget_.text() + " rises to " + std::to_string(ledger_->limit().value()) +
         " bytes: what the job holds cannot be evicted, and its own peak is only estimated, since no "
         "optimizer steps; a budget in bytes, such as 12GiB, never rises");
  return true;
}

// What is held then is what nothing can do without: to it and the request the limit rises, by a little at
// least.
bool BudgetController::raise_least(Bytes bytes) noexcept {
  const Bytes limit = ledger_->limit();
  if (torch_.may_fail() || limit.value() > 2 * own_peak_.load()) return false;
  const Bytes needed = ledger_->held() + bytes;
  const Bytes more = std::max(kGranule, Bytes(limit.value() / kRoundingShare));
  take_limit(std::max(needed, limit + more));
  note(1, "budget: the least is at least " + std::to_string(ledger_->limit().value()) + " bytes");
  return true;
}

void BudgetController::raise_peak(std::uint64_t peak) noexcept {
  own_peak_ = peak;
  take_limit(budget_.limit_of(Bytes(peak)));
  note(1, "budget: " + std::to_string(ledger_->limit().value()) + " bytes, for a higher peak than before");
}

bool BudgetController::leaves_all() const {
  return budget_.kind() == Budget::Kind::kShareOfPeak && budget_.limit_of(kGranule) >= kGranule;
}

bool BudgetController::raise_own_peak(Bytes planned) {
  const std::uint64_t measured = own_peak_.load();
  if (!leaves_all() || planned.value() <= measured || planned.value() > measured + measured / kRoundingShare)
    return false;
  own_peak_ = planned.value();
  take_limit(budget_.limit_of(planned));
  return true;
}

}  // namespace stowage::session
