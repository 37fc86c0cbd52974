// What a job begins with: the plans that an earlier run kept for it, and those for the next run.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "session/plans/plan_book.h"

namespace stowage::session {
namespace {

constexpr int kTimesSeen = 3;  // then it is known what becomes of all that a kind leaves

}  // namespace

// ---- this run

// Leaves the others, as if the job were under way.
JointPlan PlanBook::take_opening(JointPlan plans) {
  adopted_ = true;
  const auto first = plans.plans.begin() + plans.opening;
  opening_.assign(plans.plans.begin(), first);
  lasting_.clear();
  for (const Plan& plan : opening_) {
    for (const PlanEntry& entry : plan.entries)
      if (entry.lasts()) lasting_.insert({entry.offset.value(), entry.rounded.value()});
  }
  JointPlan others;
  others.plans.assign(first, plans.plans.end());
  for (std::size_t i = opening_length(plans.history, plans.opening); i < plans.history.size(); ++i)
    others.history.push_back(plans.history[i] - plans.opening);
  others.height = highest(others.plans);
  lasting_bytes_ = planner::lasting_bytes(plans);
  others.lower_bound =
      std::min(plans.lower_bound - std::min(plans.lower_bound, lasting_bytes_), others.height);
  return others;
}

void PlanBook::refuse_opening() {
  cancel();
  adopted_ = false;
  cache_.refuse_opening();
  opening_.clear();
  lasting_.clear();
  in_use_ = {};
  kinds_ = {};
  passed_on_.clear();
}

bool PlanBook::lasts(Offset offset, Bytes rounded) const {
  return lasting_.contains({offset.value(), rounded.value()});
}

std::optional<KeptPlans> PlanBook::find_opening() {
  std::optional<KeptPlans> found = cache_.find_opening();
  if (!found) return found;
  began_with_ = *found;
  began_with_.plans.clear();
  began_order_.clear();
  for (const std::uint32_t plan : found->history) began_order_.push_back(found->plans[plan].fingerprint);
  return found;
}

// No byte of its places is one of what lasts.
bool PlanBook::spares_lasting(const PlanEntry& entry) const {
  const auto spares = [&](Offset offset) {
    if (offset == kUpstream) return true;
    const auto above = lasting_.lower_bound({(offset + entry.rounded).value(), 0});
    if (above == lasting_.begin()) return true;
    const auto& [begin, bytes] = *std::prev(above);  // they are disjoint
    return begin + bytes <= offset.value();
  };
  return spares(entry.offset) && spares(entry.spare);
}

// The iterations of the run that this one began like, up to the first that has no plan any more.
std::vector<std::uint32_t> PlanBook::order_among(const std::vector<Plan>& plans) const {
  std::vector<std::uint32_t> order;
  for (const std::uint64_t fingerprint : began_order_) {
    const auto is_its = [&](const Plan& plan) { return plan.fingerprint == fingerprint; };
    const auto found = std::find_if(plans.begin(), plans.end(), is_its);
    if (found == plans.end()) break;
    order.push_back(static_cast<std::uint32_t>(found - plans.begin()));
  }
  return order;
}

// Plans that were made around what lasts, in the same arena, go with the opening as those before did. False:
// they were not, since what was taken to last has died; or what came first behind the opening has no plan.
bool PlanBook::keep_opening() {
  KeptPlans kept = began_with_;
  kept.plans = opening_;
  for (const Plan& plan : in_use_.plans) {
    const auto spares = [this](const PlanEntry& entry) { return spares_lasting(entry); };
    if (!std::all_of(plan.entries.begin(), plan.entries.end(), spares)) return false;
    kept.plans.push_back(plan);
  }
  kept.history = order_among(kept.plans);
  if (kept.history.size() <= opening_length(began_with_.history, began_with_.opening)) return false;
  kept.lower_bound = in_use_.lower_bound + lasting_bytes_;
  if (kept.plans.size() > kMostKeptPlans) return false;
  cache_.store_opening(std::move(kept), /*anew=*/true);
  return true;
}

// A plan does not say what its kind leaves to which other kind. What is recorded does, for those that came
// several times.
void PlanBook::learn_anew(const Trace& trace) {
  std::map<std::uint64_t, int> times;
  Tick begin{0};
  for (const Mark& mark : trace.marks)
    ++times[fingerprint(trace, std::exchange(begin, mark.tick), mark.tick)];
  planner::KindBook book;
  for (const Plan& plan : in_use_.plans) {
    const bool seen = times[plan.fingerprint] >= kTimesSeen;
    seen ? book.expect(plan) : book.adopt(plan);
  }
  kinds_ = std::move(book);
}

// ---- the next run

void PlanBook::learn_beginning(const Trace& trace) {
  next_opening_.reset();
  next_kinds_ = kinds_;
  Status learned =
      next_kinds_.observe(trace, [this](std::uint64_t fingerprint) { return repeats(fingerprint); });
  if (!learned) return;
  std::optional<planner::Opening> found = planner::find_opening(trace, next_kinds_);
  if (!found) return;
  const std::vector<std::uint64_t>& own = found->own;
  learned = next_kinds_.observe(trace, [&](std::uint64_t fingerprint) {
    return std::find(own.begin(), own.end(), fingerprint) != own.end();
  });
  if (!learned) return;
  next_opening_ = std::move(found);
  next_is_due_ = std::exchange(lacks_beginning_, false);
}

PlanBook::Next PlanBook::ask_next() {
  next_is_due_ = false;
  // What the job did once when it began, it may have come back to.
  planner::Opening opening = *next_opening_;
  std::erase_if(opening.own, [this](std::uint64_t fingerprint) { return repeats(fingerprint); });
  if (opening.own.empty()) opening.own = next_opening_->own;
  Next next{planner::with_opening_last(next_kinds_.kinds(), opening), options_for(kGoodEnough, {}),
            in_use_.lower_bound};
  next.options.in_use = in_use_.plans;
  return next;
}

void PlanBook::keep_next(JointPlan plans, Bytes need) {
  KeptPlans kept;
  kept.plans = std::move(plans.plans);
  kept.opening = plans.opening;
  kept.history = std::move(plans.history);
  kept.marks = next_opening_->marks;
  kept.lower_bound = plans.lower_bound;
  kept.need = need;
  cache_.store_opening(std::move(kept), std::exchange(next_is_kept_, true));
}

}  // namespace stowage::session
