// Spares: dead values that a recomputation made on its way and that stay, since other evicted values start
// from them, until one of these is restored or their bytes are needed.
//
// Only on the CPU: on a device values of several streams may start from one, without synchronisation.
// Thread safety: none; the runtime's lock guards it. Invariants: a spare is kept and anchored, and has no
// home.
#pragma once

#include <c10/core/Storage.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recompute/residency/neighbour_costs.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class Spares {
 public:
  Spares(StorageBook& book, NeighbourCosts& neighbours) : book_(book), neighbours_(neighbours) {}

  struct Spare {
    Ref<Value> value;
    std::uint64_t last_use = 0;  ///< of the evicted value that is wanted first: number of the op
    std::uint64_t bytes = 0;
  };
  /// Dead values that evicted ones start from, and the last use of the one of those that is wanted first.
  using Wanted = std::unordered_map<const Value*, std::uint64_t>;

  /// False: no more are kept, so that memory use is what a schedule predicts.
  void keep_more(bool keep) { keeps_more_ = keep; }
  /// Of the values that a plan makes, whose recipes have the stamp `planned`: those that are worth keeping.
  /// None where no more are kept.
  [[nodiscard]] Wanted wanted_of(std::uint64_t planned);
  /// `value` was made in `storage` and no op of its plan needs it any more.
  void keep(Value& value, const c10::Storage& storage, std::uint64_t last_use);

  /// Frees the bytes of a spare.
  void drop(Value& value);
  /// Frees those that no evicted value starts from any more.
  void drop_unwanted();
  [[nodiscard]] bool empty() const { return spares_.empty(); }
  /// Calls `visit` with each that can be dropped now.
  template <class Visit>
  void for_each_droppable(Visit visit) const {
    for (const Spare& spare : spares_) {
      if (spare.value->anchor.use_count() == 1) visit(spare);
    }
  }

 private:
  void mark_wanted(Value& evicted, std::uint64_t last_use, std::uint64_t planned, std::uint64_t stamp,
                   Wanted& wanted);
  static void release(Value& value);

  StorageBook& book_;
  NeighbourCosts& neighbours_;
  std::vector<Spare> spares_;
  std::vector<Value*> waiting_;
  bool keeps_more_ = true;
};

}  // namespace stowage::recompute
