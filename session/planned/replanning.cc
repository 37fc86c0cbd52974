#include "session/planned/replanning.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "allocator/arena/backend.h"
#include "session/ports/heap_margin.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

// Of an earlier run's plans; that run knew more about lifetimes than this one does before.
constexpr std::uint64_t kKnown = 6;
// Iterations after an exchange: what the plans before it had left above the new ones is freed.
constexpr std::uint64_t kTrimmed = 2;
constexpr std::uint64_t kSharesOfSlack = 200;    // 1/this of the height may come on top
constexpr std::uint32_t kUnsettledAge = 4;       // iterations, where kinds come that have no plan
constexpr std::uint64_t kSharesOfLittle = 1024;  // of the plans' height
constexpr std::uint32_t kOldest = allocator::Layout::kMostAge - 1;  // ages are not told apart beyond

/// The first plans of `made` are those of `before`, unchanged.
bool only_adds(const JointPlan& before, const JointPlan& made) {
  return before.plans.size() <= made.plans.size() &&
         std::equal(before.plans.begin(), before.plans.end(), made.plans.begin(),
                    [](const Plan& a, const Plan& b) {
                      return a.fingerprint == b.fingerprint && a.entries == b.entries;
                    });
}

/// How far above its bound a lower plan may be, as a share of it: where much can be saved most of it is soon
/// found, and the rest takes long. What is used on the way asks for a lower one again.
double worth_asking_for(double excess) {
  return excess > SearchAllowance::kMuch ? std::min(excess / 4, 1.0) : 0;
}

/// As a share of the bound.
double excess_of(const JointPlan& now) {
  const auto bound = static_cast<double>(now.lower_bound.value());
  return (static_cast<double>(now.height.value()) - bound) / bound;
}

}  // namespace

Bytes Replanning::in_pages(Bytes height) const { return allocator::round_up_to(height, port_.arena_page()); }

void Replanning::begin(const JointPlan& first) {
  plans_.use(first);
  facts_.use_plans(plans_.in_use());
  around_.clear();
}

void Replanning::restart(bool records_on) {
  outstayed_.restart();
  iterations_ = 0;
  wait_ = {};
  displaced_ = arena_.allocator().counts().displaced;
  learner_.begin(records_on);
  if (settings_.max_plans <= 1) learner_.close();
}

void Replanning::ask_lower() {
  const JointPlan& now = plans_.in_use();
  allowance_.rest();
  if (budget_.on() || guard_.trusts_plan() || in_pages(now.lower_bound) >= in_pages(now.height)) return;
  const double excess = excess_of(now);
  wait_ = {};
  if (const std::optional<double> seconds = allowance_.grant(excess))
    plans_.make_lower(around_, arena_.allocator().stream_ranges(), worth_asking_for(excess), *seconds);
}

bool Replanning::on_iteration(const ServedIteration& ended) {
  const Bytes reserved = ended.reserved;
  if (until_trimmed_ > 0 && --until_trimmed_ == 0 && !budget_.on() && port_.may_wait())
    give_back_above(plans_.in_use().height);  // what lived there is gone
  bool changed = take(reserved);
  ++iterations_;
  const auto has_plan = [this](std::uint64_t fingerprint) { return plans_.plans(fingerprint); };
  const bool further = learner_.on_iteration(!ended.is_clean(), has_plan, ended.evicted);
  const bool in_the_way = recording_.is_on() && is_in_the_way(arena_.allocator().counts().displaced);
  const bool outstayed = in_the_way && (!plans_.are_adopted() || iterations_ >= kKnown);
  // What is being made does not know a further kind: it is asked for again, with all that is known by now.
  if (further || (outstayed && !is_making())) changed |= ask(reserved);
  learner_.rest(!ended.is_clean(), is_making());
  if (allowance_.is_due() && !is_making() && !plans_.makes_lower()) ask_lower();
  return changed;
}

// What the plans pass on from one iteration to the next will be freed soon, also where it was displaced.
// While there are kinds without a plan, so may be what they left; only little is planned around before that
// is known.
std::vector<planner::Tenant> Replanning::tenants() const {
  const Bytes little(plans_.in_use().height.value() / kSharesOfLittle);
  const std::uint32_t longest = std::min(std::max(1u, plans_.outlives_at_most()), kOldest);
  std::vector<planner::Tenant> found;
  for (const allocator::ArenaBlock& block : arena_.allocator().active_blocks()) {
    if (block.waiting) continue;  // it is freed already
    if (plans_.lasts(block.offset, block.rounded)) {
      found.push_back({block.offset, block.rounded, block.stream});
      continue;
    }
    const std::uint32_t planned = plans_.outlives(block.offset, block.rounded);
    std::uint32_t most = planned != 0 ? std::min(planned, kOldest) : longest;
    if (block.rounded > little && learner_.is_unsettled()) most = std::max(most, kUnsettledAge);
    if (block.age > most) found.push_back({block.offset, block.rounded, block.stream});
  }
  return found;
}

// At once where a tensor stays that the plans do not know to stay; else now and then, since what was recorded
// may show lifetimes that they do not know.
bool Replanning::is_in_the_way(std::uint64_t displaced) {
  const bool more = std::exchange(displaced_, displaced) != displaced;
  const bool due = outstayed_.is_due(displaced);
  if (!more) return due;
  const std::vector<planner::Tenant> stay = tenants();
  return due || std::any_of(stay.begin(), stay.end(), [this](const planner::Tenant& tenant) {
           return std::find(around_.begin(), around_.end(), tenant) == around_.end();
         });
}

bool Replanning::ask(Bytes reserved) {
  const std::size_t kinds = plans_.count_kinds();
  const Trace trace = recording_.recorder().snapshot(tracer::Extent::kAll);
  const auto wanted = [this](std::uint64_t fingerprint) { return learner_.wants(fingerprint); };
  Status asked = plans_.learn(trace, wanted);
  std::vector<planner::Tenant> stay = tenants();
  allowance_.end();
  if (asked) {
    asked = plans_.make_anew(stay, arena_.allocator().stream_ranges(), tolerable(stay, reserved),
                             most(stay, reserved));
  }
  if (!asked) {
    note(1, "the plans stay as they are: " + asked.error().message);
    learner_.close();
    return false;
  }
  around_ = std::move(stay);
  note(2, "plans for " + std::to_string(plans_.count_kinds()) + " kinds of iterations (" +
              std::to_string(plans_.count_kinds() - kinds) + " new) around " +
              std::to_string(around_.size()) + " tensors that stay");
  if (plans_.count_kinds() >= settings_.max_plans) learner_.close();
  wait_ = std::chrono::milliseconds(settings_.plan_wait_ms);
  return take(reserved);
}

// While the arena settles, plans cannot be exchanged: they are waited for when that is over.
bool Replanning::take(Bytes reserved) {
  const bool lower = plans_.makes_lower();
  if ((!is_making() && !lower) || arena_.settles() || !port_.may_wait()) return false;
  std::optional<Result<JointPlan>> made = plans_.poll(std::exchange(wait_, {}));
  if (!made) return false;
  allowance_.end();
  if (!made->ok()) {
    note(1, "the plans stay as they are: " + made->error().message);
    return false;
  }
  if (lower && in_pages((*made)->height) >= in_pages(plans_.in_use().height)) return false;
  return use(*std::move(*made), reserved);
}

Bytes Replanning::expected(const std::vector<planner::Tenant>& around) const {
  Bytes sum = plans_.in_use().height + Bytes(plans_.in_use().height.value() / kSharesOfSlack);
  for (const planner::Tenant& tenant : around) sum += tenant.rounded;
  return sum;
}

// What is off the plan now takes memory beside the arena, so plans that the job can afford should not wait
// for lower ones.
Bytes Replanning::tolerable(const std::vector<planner::Tenant>& around, Bytes reserved) {
  return std::max(expected(around), guard_.room_for_arena(reserved).value_or(Bytes(0)));
}

// Beside it the budget holds at least its margin.
std::optional<Bytes> Replanning::most(const std::vector<planner::Tenant>& around, Bytes reserved) {
  if (budget_.on()) {
    const Bytes limit = port_.ledger()->limit();
    return std::max(arena_.mapped(), saturating_sub(limit, heap_margin(limit)));
  }
  const std::optional<Bytes> room = guard_.room_for_arena(reserved, room_.pinned());
  return room ? std::optional(std::max(expected(around), *room)) : std::nullopt;
}

// More memory than the job needs, or than it takes now. What stays in the arena is in it already, and what it
// displaced comes back from upstream, but for pages in which other tensors lie.
bool Replanning::is_worse(const JointPlan& made, Bytes reserved) {
  const std::optional<Bytes> room = guard_.room_for_arena(reserved, room_.pinned());
  return room && made.height > expected(around_) && in_pages(made.height) > *room;
}

bool Replanning::use(JointPlan made, Bytes reserved) {
  const JointPlan& before = plans_.in_use();
  const bool only_more = only_adds(before, made);
  if (only_more && made.plans.size() == before.plans.size()) {
    ask_lower();  // asking for these has ended the search for lower ones
    return false;
  }
  if (is_over_budget(made) || is_worse(made, reserved)) {
    note(1, "the plans stay as they are: those for all kinds would need too much memory, " +
                std::to_string(made.height.value()) + " bytes (lower bound " +
                std::to_string(made.lower_bound.value()) + ")");
    return false;
  }
  if (Status put = put_in(made, only_more); !put) {
    note(1, "the plans stay as they are: " + put.error().message);
    if (!budget_.on()) learner_.close();  // under one there may be room for it later
    return false;
  }
  plans_.use(std::move(made));
  facts_.use_plans(plans_.in_use());
  note(1, std::to_string(plans_.in_use().plans.size()) + " kinds of iterations are planned, in " +
              std::to_string(plans_.in_use().height.value()) + " bytes (lower bound " +
              std::to_string(plans_.in_use().lower_bound.value()) + ")");
  guard_.restart();
  plans_.keep();
  ask_lower();
  return true;
}

// The budget has room for the arena that is there; for a larger one, beside what lies outside it at the end
// of an iteration.
bool Replanning::is_over_budget(const JointPlan& made) const {
  if (!budget_.on() || in_pages(made.height) <= arena_.mapped()) return false;
  Bytes lasting(0);
  for (const planner::Tenant& tenant : around_) lasting += tenant.rounded;
  const Bytes limit = port_.ledger()->limit();
  return in_pages(made.height) + arena_.counted_outside(made, lasting) + heap_margin(limit) > limit;
}

Status Replanning::put_in(const JointPlan& made, bool only_more) {
  allocator::PlannedAllocator& allocator = arena_.allocator();
  if (budget_.on() && port_.commits_on_touch() && made.height > arena_.mapped()) {
    if (Status grown = arena_.grow_settling(made.height); !grown) return grown;
  }
  if (only_more) {
    for (std::size_t i = plans_.in_use().plans.size(); i < made.plans.size(); ++i) {
      if (Status added = allocator.add_plan(made.plans[i]); !added) return added;
    }
    arena_.note_memory();
  } else {
    if (Status replaced = allocator.replace_plans(made.plans); !replaced) return replaced;
    give_back_above(made.height);
    until_trimmed_ = kTrimmed;
  }
  return {};
}

void Replanning::give_back_above(Bytes height) {
  if (arena_.mapped() > in_pages(height)) arena_.allocator().decommit_idle(Offset(height.value()));
  arena_.note_memory();
}

}  // namespace stowage::session
