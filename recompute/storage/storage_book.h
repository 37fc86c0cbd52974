// Which storages are known, which value each holds, and what becomes of values when storages are written or
// die. The states of values, and what keeps them in memory, are those of core/runtime/residency_contract.h.
//
// A record keeps its storage's control block, so that an address is not mistaken for an earlier one's, but
// not its bytes. Deaths are noticed when a record is looked at or swept up.
//
// Thread safety: none; the runtime's lock guards it.
// Invariants: one record per StorageImpl; record.current is never null and record.current->home == &record.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/core/Stream.h>
#include <c10/core/TensorImpl.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/support/address_map.h"
#include "recompute/recipe/value.h"
#include "recompute/storage/lent_memory.h"
#include "recompute/storage/use_times.h"
#include "recompute/stores/store.h"

namespace stowage::recompute {

struct StorageRecord : Recycled<StorageRecord> {
  explicit StorageRecord(c10::weak_intrusive_ptr<c10::StorageImpl> storage) : impl(std::move(storage)) {}
  StorageRecord(const StorageRecord&) = delete;
  StorageRecord& operator=(const StorageRecord&) = delete;

  c10::weak_intrusive_ptr<c10::StorageImpl> impl;
  c10::StorageImpl* address = nullptr;  ///< to be dereferenced only while alive()
  Ref<Value> current;
  std::uint64_t serial = 0;  ///< in order of first sight
  std::size_t place = 0;     ///< in the book's list
  std::uint64_t bytes = 0;
  const void* data = nullptr;          ///< when last resident
  std::uint64_t last_use = 0;          ///< number of the op
  std::uint64_t writes = 0;            ///< that gave it new content
  std::uint32_t locks = 0;             ///< running ops and recomputations that need it
  std::int64_t stream = -1;            ///< the first stream that used it; -1: none yet
  bool evicted = false;                ///< its bytes are gone, and are made again
  bool offloaded = false;              ///< its bytes are in `stored` alone
  LentMemory lent;                     ///< while being_stored
  c10::Storage arriving;               ///< while offloaded: where a copy back is begun to
  std::unique_ptr<StoredCopy> stored;  ///< of its present content; it reads and writes the two above
  bool being_stored = false;           ///< `stored` may be under way
  bool rescued = false;                ///< it is away as no schedule says; see away/rescue_watch.h
  bool early = false;                  ///< it is back, which no schedule wanted yet
  bool pinned = false;                 ///< resident until it dies
  bool parameter = false;              ///< never made again, but it may be offloaded
  bool exposed = false;            ///< unseen code may write it: nothing computed from it can be made again
  std::uint32_t loans = 0;         ///< objects that are alive through which unseen code may write it
  std::uint32_t holds = 0;         ///< calls of unseen code that reads it
  std::vector<Ref<Value>> leaves;  ///< while evicted: what making it again starts from

  /// What a value's bytes were when an op read it; see raw_writes.h.
  struct Watch {
    const Value* value = nullptr;  ///< null: nothing is noted
    std::uint64_t digest = 0;
  };
  std::unique_ptr<Watch> watch;         ///< some code got its address
  std::unique_ptr<UseTimes> use_times;  ///< of one that is older than the iteration

  [[nodiscard]] bool alive() const { return !impl.expired(); }
  /// Its bytes are not in memory.
  [[nodiscard]] bool away() const { return evicted || offloaded; }
  [[nodiscard]] bool may_change() const { return exposed || loans > 0; }
  /// Code that is not seen may reach it: it stays where it is.
  [[nodiscard]] bool is_reached() const { return pinned || may_change() || holds > 0 || watch != nullptr; }
};

/// Where the value's bytes are (core/runtime/residency_contract.h).
[[nodiscard]] ValueState state_of(const Value& value);
[[nodiscard]] inline bool materialised(const Value& value) { return materialised(state_of(value)); }

class StorageBook {
 public:
  /// The record of a storage; made with a leaf value at first sight. Memory that somebody else may write
  /// (NumPy, shared memory) is exposed from the start.
  StorageRecord& record_of(const c10::Storage& storage);
  /// The record if there is one, else null.
  StorageRecord* find(const c10::StorageImpl* storage) {
    StorageRecord* const* const found = by_address_.find(key_of(storage));
    return found == nullptr ? nullptr : *found;
  }

  /// An op made `storage` just now: its value is `value`. Requires: the storage is not known.
  StorageRecord& add(const c10::Storage& storage, Ref<Value> value);
  /// The storage has new content. Requires: nothing evicted needs the old leaf, or that is kept.
  void overwrite(StorageRecord& record, Ref<Value> value);

  /// Nothing evicted needs `record`'s leaves any more: it came back or died.
  static void release_leaves(StorageRecord& record);
  /// The same for all that died and are not buried yet. True if any had leaves. Also while a walk is under
  /// way.
  bool release_leaves_of_dead();

  /// Looks at the next `count` records in turn and forgets those whose storage is dead and that no running op
  /// needs; first `dying` is called with each. Requires: no walk is under way.
  template <class Dying>
  void bury_dead(std::size_t count, Dying dying) {
    for (; count > 0 && !records_.empty(); --count) {
      if (hand_ >= records_.size()) hand_ = 0;
      StorageRecord& record = *records_[hand_++];
      if (record.locks > 0 || record.alive()) continue;
      dying(record);
      bury(record);
      --hand_;  // another record took its place
    }
  }
  /// The same with all of them, once. The next bury_dead() starts at the oldest, so that equal iterations
  /// forget the same.
  template <class Dying>
  void bury_all_dead(Dying dying) {
    hand_ = 0;
    bury_dead(records_.size(), dying);
    line_up();
  }
  /// Forgets recipes that lead to lost leaves. Requires: no walk is under way.
  void sweep();
  /// All values of storages become leaves. Requires: nothing is evicted.
  void forget_history();

  /// All leaves that making `value` again starts from. False if that is not possible, or if more than `limit`
  /// values are on the way. Values that are there and lead nowhere become leaves. Iterative: chains are long.
  bool collect_leaves(const Ref<Value>& value, std::size_t limit, std::vector<Ref<Value>>& leaves);

  template <class Visit>
  void for_each(Visit visit) {
    for (const std::unique_ptr<StorageRecord>& record : records_) visit(*record);
  }
  [[nodiscard]] std::size_t size() const { return records_.size(); }
  /// Serial number of the newest storage; 0: there was none.
  [[nodiscard]] std::uint64_t last_serial() const { return serial_; }
  void clear();
  /// A number that no earlier walk over values had.
  std::uint64_t next_stamp() { return ++stamp_; }

 private:
  static std::uintptr_t key_of(const c10::StorageImpl* storage) {
    return reinterpret_cast<std::uintptr_t>(storage);
  }
  void bury(StorageRecord& record);
  void line_up();

  std::vector<std::unique_ptr<StorageRecord>> records_;
  AddressMap<StorageRecord*> by_address_;
  std::size_t hand_ = 0;  ///< of bury_dead
  std::uint64_t stamp_ = 0;
  std::uint64_t serial_ = 0;
};

/// True if the allocator that made the storage, or the present one, frees its data with a plain deleter: then
/// it can be taken out and given back.
bool owned_by_allocator(const c10::StorageImpl& storage);
/// The storage has the bytes that it had when it was last seen, and its allocator owns them. Requires:
/// `record` is alive and not away.
bool has_own_bytes(const StorageRecord& record);
/// True if code may write the storage's memory without an op, judged by its owner: neither an allocator of
/// PyTorch's nor a file that was mapped for this process alone.
bool is_written_unseen(const c10::StorageImpl& storage);

}  // namespace stowage::recompute
