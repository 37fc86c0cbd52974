#include "planner/kinds/joint_problem.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace stowage::planner {
namespace {

using placement::Item;

/// A part of the time line, half-open.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Where a transition's beginning of its kind lies on the time line.
struct Entrance {
  const Transition* transition = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  bool hosted = false;  ///< in the kind's own stretch
};

class TimeLine {
 public:
  TimeLine(const Kinds& kinds, const std::vector<bool>& members)
      : kinds_(kinds), members_(members), begins_(kinds.kinds.size(), 0) {
    for (std::uint32_t kind = 0; kind < kinds.kinds.size(); ++kind) {
      if (!members[kind]) continue;
      begins_[kind] = end_;
      end_ += length_of(kinds.kinds[kind]);
    }
    for (const Transition& transition : kinds.transitions) add(transition);
    for (std::uint32_t kind = 0; kind < kinds.kinds.size(); ++kind) host_largest(kind);
  }

  [[nodiscard]] std::uint64_t length() const { return end_; }
  [[nodiscard]] std::uint64_t begin_of(std::uint32_t kind) const { return begins_[kind]; }
  [[nodiscard]] const std::vector<Entrance>& entrances() const { return entrances_; }
  [[nodiscard]] bool places(const Carried& carried) const {
    return members_[carried.kind] && carried.death > 0 &&
           class_of(kinds_.kinds[carried.kind].allocations[carried.allocation]) != LifeClass::kUpstream;
  }
  /// One kind that finds the same alive whatever precedes it.
  [[nodiscard]] bool is_cycle() const {
    return std::count(members_.begin(), members_.end(), true) == 1 && entrances_.size() <= 1;
  }

 private:
  void add(const Transition& transition) {
    if (!members_[transition.to]) return;  // from any kind: what is carried may be older than that
    Entrance entrance{&transition};
    for (const Carried& carried : transition.carried) {
      if (places(carried)) entrance.length = std::max<std::uint64_t>(entrance.length, carried.death);
    }
    if (entrance.length > 0) entrances_.push_back(entrance);
  }

  [[nodiscard]] std::uint64_t carried_bytes(const Transition& transition) const {
    std::uint64_t sum = 0;
    for (const Carried& carried : transition.carried) {
      if (places(carried)) sum += kinds_.kinds[carried.kind].allocations[carried.allocation].rounded.value();
    }
    return sum;
  }

  void host_largest(std::uint32_t kind) {
    Entrance* largest = nullptr;
    std::uint64_t most = 0;
    for (Entrance& entrance : entrances_) {
      if (entrance.transition->to != kind) continue;
      const std::uint64_t bytes = carried_bytes(*entrance.transition);
      if (largest != nullptr && bytes <= most) continue;
      largest = &entrance;
      most = bytes;
    }
    for (Entrance& entrance : entrances_) {
      if (entrance.transition->to != kind) continue;
      entrance.hosted = &entrance == largest;
      entrance.begin = entrance.hosted ? begins_[kind] : std::exchange(end_, end_ + entrance.length);
    }
  }

  const Kinds& kinds_;
  const std::vector<bool>& members_;
  std::vector<std::uint64_t> begins_;  ///< by kind
  std::uint64_t end_ = 0;
  std::vector<Entrance> entrances_;
};

class Builder {
 public:
  Builder(const Kinds& kinds, const std::vector<bool>& members)
      : kinds_(kinds), members_(members), line_(kinds, members), carried_(kinds.kinds.size()) {
    for (std::size_t kind = 0; kind < kinds.kinds.size(); ++kind)
      carried_[kind].resize(kinds.kinds[kind].allocations.size());
    for (const Entrance& entrance : line_.entrances()) {
      for (const Carried& carried : entrance.transition->carried) {
        if (line_.places(carried))
          carried_[carried.kind][carried.allocation].push_back(
              {entrance.begin, entrance.begin + carried.death});
      }
    }
  }

  JointProblem build(const std::vector<Tenant>& tenants) {
    if (line_.is_cycle()) made_.problem.period = line_.length();
    for (std::uint32_t kind = 0; kind < kinds_.kinds.size(); ++kind) {
      for (std::uint32_t k = 0; members_[kind] && k < length_of(kinds_.kinds[kind]); ++k) add(kind, k);
    }
    for (const Tenant& tenant : tenants) {
      Item item = item_of(tenant.rounded, tenant.stream);
      item.death = line_.length();
      item.fixed = tenant.offset;
      made_.problem.items.push_back(item);
    }
    return std::move(made_);
  }

 private:
  static Item item_of(Bytes rounded, StreamId stream) {
    Item item;
    item.size = rounded;
    item.stream_class = stream.value();
    return item;
  }

  void add(std::uint32_t kind, std::uint32_t k) {
    const Allocation& allocation = kinds_.kinds[kind].allocations[k];
    const LifeClass life = class_of(allocation);
    if (life == LifeClass::kUpstream) return;
    Item item = item_of(allocation.rounded, allocation.stream);
    std::vector<Stretch> stretches;
    if (made_.problem.period == 0) {
      stretches = stretches_of(kind, k, life == LifeClass::kTwoSlots);
      item.birth = stretches.front().begin;
      item.death = stretches.back().end;
    } else {
      item.birth = k;
      item.death = cyclic_death(allocation, carried_[kind][k], life, k);
    }
    for (const bool spare : {false, true}) {
      if (spare && life != LifeClass::kTwoSlots) break;
      for (std::size_t i = 1; i < stretches.size(); ++i)
        made_.problem.gaps.push_back({static_cast<std::uint32_t>(made_.problem.items.size()),
                                      stretches[i - 1].end, stretches[i].begin, Bytes(0), Bytes(0)});
      made_.problem.items.push_back(item);
      made_.slots.push_back({kind, k, spare});
    }
  }

  [[nodiscard]] std::uint64_t cyclic_death(const Allocation& allocation, const std::vector<Stretch>& carried,
                                           LifeClass life, std::uint32_t k) const {
    const std::uint64_t period = line_.length();
    if (life == LifeClass::kTwoSlots) return k + period;
    if (!allocation.crosses || carried.empty()) return allocation.death;
    return period + std::min<std::uint64_t>(carried.front().end, k);
  }

  /// Disjoint, in order, those that touch made one. Of two slots each is held throughout its kind's
  /// iteration.
  std::vector<Stretch> stretches_of(std::uint32_t kind, std::uint32_t k, bool throughout) const {
    const Allocation& allocation = kinds_.kinds[kind].allocations[k];
    const std::uint64_t birth = throughout ? 0 : k;
    const std::uint64_t death = throughout ? length_of(kinds_.kinds[kind]) : allocation.death;
    std::vector<Stretch> all = carried_[kind][k];
    const auto add = [&](std::uint64_t begin, std::uint64_t length) {
      if (birth < length) all.push_back({begin + birth, begin + std::min(death, length)});
    };
    add(line_.begin_of(kind), length_of(kinds_.kinds[kind]));
    for (const Entrance& entrance : line_.entrances()) {
      if (entrance.transition->to == kind && !entrance.hosted) add(entrance.begin, entrance.length);
    }
    return united(std::move(all));
  }

  static std::vector<Stretch> united(std::vector<Stretch> all) {
    std::sort(all.begin(), all.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    std::vector<Stretch> made;
    for (const Stretch& stretch : all) {
      if (!made.empty() && stretch.begin <= made.back().end) {
        made.back().end = std::max(made.back().end, stretch.end);
      } else {
        made.push_back(stretch);
      }
    }
    return made;
  }

  const Kinds& kinds_;
  const std::vector<bool>& members_;
  TimeLine line_;
  std::vector<std::vector<std::vector<Stretch>>> carried_;  ///< by kind and allocation
  JointProblem made_;
};

}  // namespace

LifeClass class_of(const Allocation& allocation) {
  if (allocation.rounded.value() == 0) return LifeClass::kUpstream;
  if (!allocation.crosses) return LifeClass::kTransient;
  if (!allocation.ended || allocation.at_once > 2) return LifeClass::kUpstream;
  if (allocation.at_once == 2 && allocation.spans) return LifeClass::kUpstream;
  return allocation.at_once == 2 ? LifeClass::kTwoSlots : LifeClass::kCyclic;
}

JointProblem joint_problem(const Kinds& kinds, const std::vector<bool>& members,
                           const std::vector<Tenant>& tenants) {
  return Builder(kinds, members).build(tenants);
}

Bytes own_bound(const Kinds& kinds, std::uint32_t kind) {
  std::vector<bool> alone(kinds.kinds.size(), false);
  alone[kind] = true;
  return placement::lower_bound(joint_problem(kinds, alone, {}).problem);
}

}  // namespace stowage::planner
