#include "planner/kinds/opening.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace stowage::planner {
namespace {

/// The fingerprints of a trace's iterations, in order. Those without an allocation do not count.
std::vector<std::uint64_t> iterations_of(const Trace& trace) {
  const std::uint64_t empty = Fingerprint().value();
  std::vector<std::uint64_t> found;
  Tick begin{0};
  for (const Mark& mark : trace.marks) {
    const std::uint64_t seen = fingerprint(trace, std::exchange(begin, mark.tick), mark.tick);
    if (seen != empty) found.push_back(seen);
  }
  return found;
}

bool lasts(const Allocation& allocation) {
  return allocation.crosses && !allocation.ended && allocation.rounded.value() != 0;
}

/// Gives what lasts in `plan`, which is for `kind`, places from `top` on, and moves that.
void place_lasting(const Kind& kind, Plan& plan, Bytes& top) {
  for (std::size_t k = 0; k < plan.entries.size(); ++k) {
    PlanEntry& entry = plan.entries[k];
    if (!lasts(kind.allocations[k]) || entry.offset != kUpstream) continue;
    entry.offset = Offset(top.value());
    entry.death = PlanEntry::kUnknownDeath;
    top += entry.rounded;
    plan.height = top;
    plan.proved_optimal = false;
  }
}

}  // namespace

std::optional<Opening> find_opening(const Trace& trace, const KindBook& book) {
  const std::vector<std::uint64_t> all = iterations_of(trace);
  const auto repeats = [&](std::uint64_t seen) { return book.knows(seen); };
  const auto most = static_cast<std::ptrdiff_t>(std::min(all.size(), Opening::kMostIterations));
  const auto after =
      std::find_if_not(all.rend() - most, all.rend(), repeats).base();  // behind the last of its own
  const auto end = std::find_if_not(after, all.end(), repeats);
  if (after == all.begin() || end == after) return std::nullopt;
  Opening opening{{all.begin(), end}, {}, trace.marks.front().source};
  std::copy_if(all.begin(), after, std::back_inserter(opening.own), std::not_fn(repeats));
  if (std::set(opening.own.begin(), opening.own.end()).size() != opening.own.size()) return std::nullopt;
  for (const Mark& mark : trace.marks) {
    if (mark.source == MarkSource::kPeriod || mark.source != opening.marks) return std::nullopt;
  }
  return opening;
}

NextKinds with_opening_last(const Kinds& kinds, const Opening& opening) {
  NextKinds all{{}, static_cast<std::uint32_t>(opening.own.size())};
  const auto number_of = [](const std::vector<Kind>& among, std::uint64_t fingerprint) {
    const auto is_it = [&](const Kind& kind) { return kind.fingerprint == fingerprint; };
    return static_cast<std::uint32_t>(std::find_if(among.begin(), among.end(), is_it) - among.begin());
  };
  const auto is_its = [&](const Kind& kind) {
    return std::find(opening.own.begin(), opening.own.end(), kind.fingerprint) != opening.own.end();
  };
  std::copy_if(kinds.kinds.begin(), kinds.kinds.end(), std::back_inserter(all.kinds.kinds),
               std::not_fn(is_its));
  for (const std::uint64_t fingerprint : opening.own)
    all.kinds.kinds.push_back(kinds.kinds[number_of(kinds.kinds, fingerprint)]);
  const auto moved = [&](std::uint32_t kind) {
    return number_of(all.kinds.kinds, kinds.kinds[kind].fingerprint);
  };
  for (Transition transition : kinds.transitions) {
    transition.from = moved(transition.from);
    transition.to = moved(transition.to);
    for (Carried& carried : transition.carried) carried.kind = moved(carried.kind);
    all.kinds.transitions.push_back(std::move(transition));
  }
  for (const std::uint64_t fingerprint : opening.iterations)
    all.kinds.history.push_back(number_of(all.kinds.kinds, fingerprint));
  return all;
}

// Kinds that come again may have twins, so there may be more plans than kinds; the opening's come once.
JointPlan begin_with_opening(JointPlan made, const NextKinds& all, Bytes bound) {
  const std::vector<Kind>& kinds = all.kinds.kinds;
  const std::size_t others = made.plans.size() - all.opening;
  const Bytes height = made.height;
  Bytes top = height;
  for (std::size_t i = 0; i < all.opening; ++i)
    place_lasting(kinds[kinds.size() - all.opening + i], made.plans[others + i], top);
  std::rotate(made.plans.begin(), made.plans.begin() + static_cast<std::ptrdiff_t>(others), made.plans.end());
  made.opening = all.opening;
  for (std::uint32_t& plan : made.history)
    plan = plan < others ? plan + all.opening : plan - static_cast<std::uint32_t>(others);
  made.height = top;
  made.lower_bound = std::min(bound + (top - height), top);
  return made;
}

Bytes lasting_bytes(const JointPlan& plans) {
  Bytes sum{0};
  for (const Plan& plan : plans.plans) {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.lasts()) sum += entry.rounded;
    }
  }
  return sum;
}

}  // namespace stowage::planner
