// What it costs to restore a value together with all its neighbours that are not in memory either, in almost
// constant time: DTR's h_eq (Kirisame et al. 2021, "Dynamic Tensor Rematerialization", section 4.1).
//
// Values that are not materialised and stand next to each other in the op graph form sets; a set knows the
// sum of its members' costs. When a member comes back its cost is taken off, but the set is not split, as in
// the paper. Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

namespace stowage::recompute {

class NeighbourSets {
 public:
  using Id = std::int32_t;

  /// A set of one.
  Id make(std::uint64_t cost_ns) {
    parent_.push_back(static_cast<Id>(parent_.size()));
    cost_ns_.push_back(cost_ns);
    return parent_.back();
  }
  /// The set's name: equal for all members.
  Id find(Id id) {
    while (parent_[at(id)] != id) {
      parent_[at(id)] = parent_[at(parent_[at(id)])];
      id = parent_[at(id)];
    }
    return id;
  }
  void join(Id a, Id b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    parent_[at(b)] = a;
    cost_ns_[at(a)] += cost_ns_[at(b)];
  }
  void take_off(Id id, std::uint64_t cost_ns) {
    std::uint64_t& sum = cost_ns_[at(find(id))];
    sum -= cost_ns < sum ? cost_ns : sum;
  }
  std::uint64_t cost_ns(Id id) { return cost_ns_[at(find(id))]; }
  /// Forgets all sets; ids given so far must not be used again.
  void clear() {
    parent_.clear();
    cost_ns_.clear();
    ++generation_;
  }
  /// Counts the calls of clear(): ids of an earlier generation mean nothing.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  [[nodiscard]] std::size_t size() const { return parent_.size(); }

 private:
  static std::size_t at(Id id) { return static_cast<std::size_t>(id); }
  std::vector<Id> parent_;
  std::vector<std::uint64_t> cost_ns_;
  std::uint32_t generation_ = 0;
};

}  // namespace stowage::recompute
