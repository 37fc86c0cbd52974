// Takes the bytes out of living storages and brings them back.
//
// Evicting moves the data out of the StorageImpl and frees it through its allocator; the storage then points
// into the guard range. What that may count on is in core/runtime/residency_contract.h. Restoring
// (rematerializer.h) moves data that was made again into the same StorageImpl. Tensors, views, version
// counters and saved tensors do not change.
//
// Thread safety: none; the runtime's lock guards it. An allocation made here may call back into evict() of
// other storages; never of those that are locked. Invariants: an evicted storage's leaves are anchored;
// evicted => record.leaves were collected; a failed restore (out of memory) leaves everything evicted or
// resident as it was or better.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recompute/away/content_watch.h"
#include "recompute/away/offloader.h"
#include "recompute/away/rescue_watch.h"
#include "recompute/away/residency_counts.h"
#include "recompute/residency/neighbour_costs.h"
#include "recompute/residency/rematerializer.h"
#include "recompute/residency/spares.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class Residency {
 public:
  Residency(StorageBook& book, Stores& stores) : book_(book), stores_(stores) {}

  /// Bytes of evicted CPU storages are overwritten first.
  void set_poison(bool poison) {
    poison_ = poison;
    offloader_.set_poison(poison);
  }
  /// Is told about each eviction and restore from now on. Null: no one is told.
  void set_watch(ContentWatch* watch) {
    watch_ = watch;
    offloader_.set_watch(watch);
    rematerializer_.set_watch(watch);
  }

  /// Is told about the runtime's own copies and recomputations from now on. Null: no one is told.
  void set_aside(AsideWatch* aside) {
    offloader_.set_aside(aside);
    rematerializer_.set_aside(aside);
  }

  /// True if the present state allows eviction: alive, resident, not locked or pinned, with a
  /// recipe and data that its allocator owns. Cheap.
  [[nodiscard]] static bool may_evict(const StorageRecord& record);
  /// Evicts if may_evict() and if the value can be made again from leaves that are there. A value that cannot
  /// becomes a leaf.
  bool evict(StorageRecord& record);
  /// The other way to empty a storage.
  [[nodiscard]] Offloader& offloader() { return offloader_; }
  /// Why the latest copy failed; empty: it did not.
  [[nodiscard]] const std::string& trouble() const { return stores_.trouble; }
  /// Who is told of what rescue does.
  [[nodiscard]] RescueWatch& rescue() { return rescue_; }
  /// Brings it back if it is evicted or offloaded. Throws what the ops throw, and if the store fails.
  void restore(StorageRecord& record) { rematerializer_.restore(record); }
  /// No copy is under way afterwards, either.
  void restore_all();
  /// All that is evicted; what is offloaded stays so.
  void restore_evicted();
  /// Memory that holds what can be had again without a loss: Rematerializer::drop_made(), where `made_too`,
  /// and Offloader::drop_arriving(). How many bytes it freed.
  std::uint64_t drop_early(std::uint64_t bytes, Place place, bool made_too) {
    const std::uint64_t freed = offloader_.drop_arriving(bytes, place);
    if (freed >= bytes || !made_too) return freed;
    return freed + rematerializer_.drop_made(bytes - freed, place);
  }
  /// Before the content of `record` changes: brings back what starts from it or, where that takes less
  /// memory, keeps a copy of the content until it is not needed. `as_planned`: a copy only if there is no
  /// room for what starts from it. Throws what recomputation throws; then nothing may be written.
  void before_write(StorageRecord& record, bool as_planned);
  /// Brings back what is evicted and starts from the present content of `record`.
  void restore_dependents(StorageRecord& record);
  /// Looks at the next `count` storages in turn and forgets the dead.
  void bury_dead(std::size_t count);
  /// Forgets all that are dead.
  void bury_all_dead();
  /// True if anything is evicted or offloaded. From any thread, without the lock.
  [[nodiscard]] bool any_away() const { return counter_.any_away(); }
  [[nodiscard]] bool any_evicted() const { return counts().evicted_bytes > 0; }

  /// ResidencyCounter::log_replays().
  void log_replays(std::vector<std::uint64_t>* log) { counter_.log_replays(log); }
  [[nodiscard]] const ResidencyCounts& counts() const { return counter_.counts(); }
  [[nodiscard]] NeighbourCosts& neighbours() { return neighbours_; }
  [[nodiscard]] Spares& spares() { return spares_; }
  /// Requires: nothing is evicted or offloaded.
  void reset_counts() {
    counter_.reset();
    short_ = false;
  }

 private:
  std::vector<StorageRecord*> dependents_of(const Ref<Value>& leaf);
  bool is_cheaper_kept(const StorageRecord& leaf, std::span<StorageRecord* const> dependents);
  void keep_content(StorageRecord& record);
  template <class Chosen>
  void restore_where(Chosen chosen);
  void restore_each(std::span<StorageRecord* const> records);
  bool anchor_leaves(std::vector<Ref<Value>>& leaves);
  void drop_unwanted_spares();
  void note_death(StorageRecord& record);

  StorageBook& book_;
  Stores& stores_;
  NeighbourCosts neighbours_{book_};
  Spares spares_{book_, neighbours_};
  ResidencyCounter counter_;
  RescueWatch rescue_;
  Offloader offloader_{book_, stores_, counter_, rescue_};
  Rematerializer rematerializer_{book_, neighbours_, spares_, offloader_, counter_, rescue_};
  bool poison_ = false;
  ContentWatch* watch_ = nullptr;
  bool short_ = false;  ///< what starts from a leaf that is to be written did not fit
};

}  // namespace stowage::recompute
