// Takes the bytes out of living storages and brings them back.
//
// Evicting moves the data out of the StorageImpl and frees it through its allocator; the storage then points
// into the guard range. Restoring plans which recipes to run (those of dead and evicted values on the way
// down to what is there), runs them in order and moves the results' data into the same StorageImpls. Results
// of dead values live while the plan needs them and, where other evicted values start from them too, as
// spares until somebody needs their bytes. Tensors, views, version counters and saved tensors see nothing of
// it.
//
// Thread safety: none; the runtime's lock guards it. An allocation made here may call back into evict() of
// other storages; never of those that are locked. Invariants: an evicted storage's leaves are anchored;
// evicted => record.leaves were collected; a failed restore (out of memory) leaves everything evicted or
// resident as it was or better.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "recompute/residency/content_watch.h"
#include "recompute/residency/neighbours.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

/// The part of RuntimeCounters that is counted here.
struct ResidencyCounts {
  std::uint64_t evictions = 0;
  std::uint64_t restores = 0;
  std::uint64_t replays = 0;
  std::uint64_t replay_ns = 0;       ///< host time
  std::uint64_t replay_cost_ns = 0;  ///< on CUDA the modelled time, elsewhere host time
  std::uint64_t evicted_bytes = 0;
  std::uint64_t evicted_total = 0;
};

class Residency {
 public:
  explicit Residency(StorageBook& book) : book_(book) {}

  /// Bytes of evicted CPU storages are overwritten first.
  void set_poison(bool poison) { poison_ = poison; }
  /// Hears of each eviction and restore from now on. Null: nobody does.
  void set_watch(ContentWatch* watch) { watch_ = watch; }

  /// True if only the state of the moment speaks for eviction: alive, resident, not locked or pinned, with a
  /// recipe and data that its allocator owns. Cheap.
  [[nodiscard]] static bool may_evict(const StorageRecord& record);
  /// Evicts if may_evict() and if the value can be made again from leaves that are there. A value that cannot
  /// becomes a leaf.
  bool evict(StorageRecord& record);
  /// Brings it back if it is evicted. Throws what the ops throw.
  void restore(StorageRecord& record);
  void restore_all();
  /// Before the content of `record` changes: brings back what starts from it or, where that takes less
  /// memory, keeps a copy of the content until nobody needs it. `as_planned`: a copy only if there is no room
  /// for what starts from it. Throws what recomputation throws; then nothing may be written.
  void before_write(StorageRecord& record, bool as_planned);
  /// Brings back what is evicted and starts from the present content of `record`.
  void restore_dependents(StorageRecord& record);
  /// Whether results of dead values that other evicted ones start from too are kept, as spares, while there
  /// is room. Without, what is held is what a schedule foresees.
  void keep_spares(bool keep) { keeps_spares_ = keep; }
  /// A spare: a dead value that a recomputation made and that evicted ones start from.
  struct Spare {
    Ref<Value> value;
    std::uint64_t last_use = 0;  ///< of the evicted value that is wanted first: number of the op
    std::uint64_t bytes = 0;
  };
  /// Calls `visit` with each that can be dropped now.
  template <class Visit>
  void for_each_spare(Visit visit) {
    for (const Spare& spare : spares_) {
      if (spare.value->anchor.use_count() == 1) visit(spare);
    }
  }
  void drop_spare(Value& value);

  /// Looks at the next `count` storages in turn and forgets the dead.
  void bury_dead(std::size_t count);
  /// Forgets all that are dead.
  void bury_all_dead();
  /// True if anything is evicted. From any thread, without the lock.
  [[nodiscard]] bool any_away() const { return any_away_.load(std::memory_order_relaxed); }

  /// The set of neighbours that `value` is in, or -1 if it is there or nobody joined it yet.
  NeighbourSets::Id set_of(Value& value);
  /// What the members of a set cost together.
  std::uint64_t cost_of_set_ns(NeighbourSets::Id set) { return neighbours_.cost_ns(set); }
  NeighbourSets::Id name_of_set(NeighbourSets::Id set) { return neighbours_.find(set); }
  /// True if the value is in memory and may be read.
  static bool materialised(const Value& value);
  [[nodiscard]] const ResidencyCounts& counts() const { return counts_; }
  /// Requires: nothing is evicted.
  void reset_counts() {
    counts_ = {};
    short_ = false;
  }

 private:
  struct Plan;
  Plan plan_for(Value& target);
  void run_all(Plan& plan);
  c10::Storage make_again(Value& value);
  void run(Plan& plan, std::size_t step);
  std::vector<c10::Storage> inputs_of(Plan& plan, const Recipe& recipe);
  void fetch_for_writing(Plan& plan, const Recipe& recipe, std::size_t at, std::vector<c10::Storage>& inputs);
  c10::Storage input_of(Plan& plan, const Input& input, const Geometry& geometry);
  void deliver(Plan& plan, const Recipe& recipe, std::vector<c10::Storage>& made);
  void refill(StorageRecord& record, c10::Storage& made);
  std::vector<StorageRecord*> dependents_of(const Ref<Value>& leaf);
  bool is_cheaper_kept(const StorageRecord& leaf, std::span<StorageRecord* const> dependents);
  void keep_content(StorageRecord& record);
  void restore_each(std::span<StorageRecord* const> records);
  bool anchor_leaves(std::vector<Ref<Value>>& leaves);
  void join_neighbours(Value& value);
  void find_wanted(Plan& plan, std::uint64_t stamp);
  void mark_wanted(Plan& plan, Value& evicted, std::uint64_t last_use, std::uint64_t planned,
                   std::uint64_t stamp);
  void keep_spare(Value& value, const c10::Storage& storage, std::uint64_t last_use);
  void drop_unwanted_spares();
  void release_spare(Value& value);
  void count_away(std::uint64_t bytes, bool away);
  void note_death(const StorageRecord& record);

  StorageBook& book_;
  NeighbourSets neighbours_;
  ResidencyCounts counts_;
  std::vector<Spare> spares_;
  std::vector<Value*> waiting_;
  std::atomic<bool> any_away_{false};
  bool keeps_spares_ = true;
  bool poison_ = false;
  ContentWatch* watch_ = nullptr;
  bool short_ = false;  ///< what starts from a leaf that is to be written did not fit
};

/// Keeps a storage from being evicted while it exists. Null is allowed.
class RecordLock {
 public:
  explicit RecordLock(StorageRecord* record) : record_(record) {
    if (record_ != nullptr) ++record_->locks;
  }
  RecordLock(RecordLock&& other) noexcept : record_(other.record_) { other.record_ = nullptr; }
  RecordLock(const RecordLock&) = delete;
  RecordLock& operator=(const RecordLock&) = delete;
  RecordLock& operator=(RecordLock&&) = delete;
  ~RecordLock() {
    if (record_ != nullptr) --record_->locks;
  }

 private:
  StorageRecord* record_;
};

}  // namespace stowage::recompute
