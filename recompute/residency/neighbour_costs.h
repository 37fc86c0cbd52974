// What it costs to restore a value together with all its evicted neighbours: the sets of neighbours.h, over
// the values of a book.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include "recompute/residency/neighbours.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class NeighbourCosts {
 public:
  explicit NeighbourCosts(StorageBook& book) : book_(book) {}

  /// `value`, which has a recipe, is about to be evicted: its set joins those of the evicted or dead values
  /// next to it.
  void join(Value& value);
  /// `value` is in memory again: its cost is subtracted from its set, if it is in one.
  void leave(Value& value);

  /// The set that `value` is in, or -1 if it is in memory or was not joined yet.
  [[nodiscard]] NeighbourSets::Id set_of(const Value& value) const {
    return value.cost_generation == sets_.generation() ? value.cost_set : -1;
  }
  /// What the members of a set cost together.
  [[nodiscard]] std::uint64_t cost_ns(NeighbourSets::Id set) { return sets_.cost_ns(set); }
  /// The set's name: equal for all that were joined.
  [[nodiscard]] NeighbourSets::Id name_of(NeighbourSets::Id set) { return sets_.find(set); }

 private:
  void start_set(Value& alone);

  StorageBook& book_;
  NeighbourSets sets_;
};

}  // namespace stowage::recompute
