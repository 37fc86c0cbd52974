#include "planner/kinds/twins.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/kinds/joint_problem.h"

namespace stowage::planner {
namespace {

/// Of one transition that are told apart. More are very rare; they then take turns together.
constexpr std::size_t kMostOlderTwins = 3;

class Unroller {
 public:
  Unroller(const Kinds& kinds, const std::vector<bool>& wanted) : kinds_(kinds) {
    for (std::size_t kind = 0; kind < kinds.kinds.size(); ++kind) {
      const auto at = static_cast<std::uint32_t>(made_.kinds.size());
      copies_.push_back({at});
      made_.kinds.push_back(kinds.kinds[kind]);
      if (!wanted[kind]) continue;
      copies_.back().push_back(at + 1);
      for (Allocation& allocation : made_.kinds.back().allocations) {
        if (class_of(allocation) == LifeClass::kTwoSlots) allocation.at_once = 1;
      }
      made_.kinds.push_back(made_.kinds.back());
    }
  }

  Kinds run() {
    for (const Transition& transition : kinds_.transitions) {
      for (const std::uint32_t from : copies_[transition.from]) {
        for (const std::uint32_t to : copies_[transition.to]) add(transition, from, to);
      }
    }
    std::sort(made_.transitions.begin(), made_.transitions.end(),
              [](const Transition& a, const Transition& b) {
                return std::pair(a.from, a.to) < std::pair(b.from, b.to);
              });
    take_turns();
    return std::move(made_);
  }

 private:
  using Copies = std::vector<std::uint32_t>;

  [[nodiscard]] bool is_twin(std::uint32_t kind) const { return copies_[kind].size() > 1; }

  /// Twins of which a transition carries what neither of its two ends made: either may have made it.
  [[nodiscard]] std::vector<std::uint32_t> older_twins(const Transition& transition) const {
    std::vector<std::uint32_t> older;
    for (const Carried& carried : transition.carried) {
      const std::uint32_t kind = carried.kind;
      if (!is_twin(kind) || kind == transition.from || kind == transition.to) continue;
      if (std::find(older.begin(), older.end(), kind) == older.end()) older.push_back(kind);
    }
    return older;
  }

  void add(const Transition& transition, std::uint32_t from, std::uint32_t to) {
    if (from == to && is_twin(transition.from)) return;
    const std::vector<std::uint32_t> older = older_twins(transition);
    const std::size_t ways = std::size_t{1} << std::min(older.size(), kMostOlderTwins);
    for (std::size_t way = 0; way < ways; ++way) {
      std::map<std::uint32_t, std::uint32_t> owners;  // by kind that has a twin
      for (std::size_t i = 0; i < older.size(); ++i)
        owners[older[i]] = copies_[older[i]][way >> (i % kMostOlderTwins) & 1];
      if (is_twin(transition.to)) owners[transition.to] = other(transition.to, to);
      if (is_twin(transition.from)) owners[transition.from] = from;
      add(transition, from, to, owners);
    }
  }

  void add(const Transition& transition, std::uint32_t from, std::uint32_t to,
           const std::map<std::uint32_t, std::uint32_t>& owners) {
    Transition& made = made_.transitions.emplace_back(Transition{from, to, {}});
    for (const Carried& carried : transition.carried) {
      const auto owner = owners.find(carried.kind);
      made.carried.push_back({owner != owners.end() ? owner->second : copies_[carried.kind][0],
                              carried.allocation, carried.death});
    }
    std::sort(made.carried.begin(), made.carried.end(), [](const Carried& a, const Carried& b) {
      return std::pair(a.kind, a.allocation) < std::pair(b.kind, b.allocation);
    });
  }

  [[nodiscard]] std::uint32_t other(std::uint32_t kind, std::uint32_t copy) const {
    return copy == copies_[kind][0] ? copies_[kind][1] : copies_[kind][0];
  }

  void take_turns() {
    std::map<std::uint32_t, std::size_t> times;
    for (const std::uint32_t kind : kinds_.history) {
      const Copies& copies = copies_[kind];
      made_.history.push_back(copies[times[kind]++ % copies.size()]);
    }
  }

  const Kinds& kinds_;
  std::vector<Copies> copies_;  ///< by kind, in the result
  Kinds made_;
};

}  // namespace

Bytes held_twice(const Kind& kind) {
  Bytes sum{0};
  for (const Allocation& allocation : kind.allocations) {
    if (class_of(allocation) == LifeClass::kTwoSlots) sum += allocation.rounded;
  }
  return sum;
}

Kinds with_twins(const Kinds& kinds, const std::vector<bool>& wanted) {
  return Unroller(kinds, wanted).run();
}

std::optional<std::uint32_t> twin_of(const Kinds& kinds, std::uint32_t kind) {
  for (const std::uint32_t other : {kind + 1, kind - 1}) {
    if (other < kinds.kinds.size() && kinds.kinds[other].fingerprint == kinds.kinds[kind].fingerprint)
      return other;
  }
  return std::nullopt;
}

}  // namespace stowage::planner
