// Copies the bytes of living storages to a store and brings them back: for what has no recipe (parameters,
// optimizer state, inputs), and for what takes longer to make again than to copy.
//
// The storage is emptied as by an eviction, but only once its copy is whole. It keeps its value, and what
// starts from the value needs no anchor: the copy can be read at any time. Copies are made on the stream that
// the storage belongs to, so its memory can be given to others in that stream's order.
//
// A copy may be begun ahead of time, where the store copies beside the job's ops: to the store, and what
// lives stays as it is; or back, into memory that is taken at once, and the storage stays offloaded until
// somebody asks for it. Whoever then needs the copy waits for it.
//
// A copy is kept when its storage comes back, until the content changes: parameters, which many ops only
// read, are written to the store once an iteration, and frozen ones once. Where a store is full, copies of
// what is in memory are dropped first.
//
// Thread safety: none; the runtime's lock guards it. fetch() allocates, which may call back into the eviction
// or offloading of other storages; never of those that are locked. Invariants: record.offloaded =>
// record.stored; record.stored => it holds the present content, or will when
// its copy is done; record.arriving => record.offloaded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "recompute/away/aside.h"
#include "recompute/away/content_watch.h"
#include "recompute/away/rescue_watch.h"
#include "recompute/away/residency_counts.h"
#include "recompute/storage/place.h"
#include "recompute/storage/storage_book.h"
#include "recompute/stores/stores.h"

namespace stowage::recompute {

class Offloader {
 public:
  Offloader(StorageBook& book, Stores& stores, ResidencyCounter& counter, RescueWatch& rescue)
      : book_(book), stores_(stores), counter_(counter), rescue_(rescue) {}

  void set_poison(bool poison) { poison_ = poison; }
  void set_watch(ContentWatch* watch) { watch_ = watch; }
  /// Is told about each copy from now on. Null: no one is told.
  void set_aside(AsideWatch* aside) { aside_ = aside; }

  /// True if there is a store for its device, and if it is alive and neither pinned nor open to code that is
  /// not seen: it may be offloaded whenever it is resident and unlocked. Cheap.
  [[nodiscard]] bool is_offloadable(const StorageRecord& record) const;
  /// is_offloadable(), and it is resident and unlocked. Cheap.
  [[nodiscard]] bool may_offload(const StorageRecord& record) const;
  /// Copies and empties it if may_offload(). False: it stays as it was; Stores::trouble says why if the store
  /// failed.
  bool offload(StorageRecord& record);
  /// Begins the copy to its store if may_offload(). False: there is none, as for offload().
  bool begin_store(StorageRecord& record);
  /// Begins the copy back of what is offloaded. Throws what the allocation throws (out of memory).
  void prefetch(StorageRecord& record);
  /// Nothing is copied from the memory of `record` any more: it may be written, or given away.
  void settle(StorageRecord& record);
  /// Frees the memory of a copy back that was begun, which stays offloaded.
  void drop_arriving(StorageRecord& record);
  /// Of all those in `place`, one after the other until `bytes` are free. How many it freed.
  std::uint64_t drop_arriving(std::uint64_t bytes, Place place);
  /// Waits for all copies there, and gives those back up: nothing is under way any more.
  void finish_all();
  /// Brings it back. Requires: it is offloaded and alive. Throws what the allocation throws (out of memory),
  /// and c10::Error if the store fails; then it is offloaded as before.
  void fetch(StorageRecord& record);
  /// The same for the copy of an overwritten leaf that something evicted starts from; `dependent` is that. It
  /// is the job's no more, so it counts as a copy only. Requires: it is kept, and `anchor` has it.
  [[nodiscard]] bool may_offload_kept(const Value& leaf) const;
  bool offload_kept(Value& leaf, const StorageRecord& dependent);
  /// Stores the content of `record`, which an op is about to overwrite, for what starts from it. False: the
  /// store failed, or there is none.
  bool store_content(StorageRecord& record);
  /// The bytes of a kept leaf, from the store if they are there. Throws as fetch() does.
  c10::Storage kept_bytes(Value& leaf, c10::DeviceType type);
  /// Copies run beside ops, on all devices that have a store.
  [[nodiscard]] CopyLanes copy_lanes() const { return stores_.lanes(); }
  /// Bytes of copies for which there is room at a time.
  [[nodiscard]] std::uint64_t capacity() const { return stores_.capacity(); }
  /// What the copies there, where that is to be made, and back take. Requires: there is a store for its
  /// device.
  [[nodiscard]] std::uint64_t cost_ns(const StorageRecord& record) const;
  /// What one copy takes, there or back. 0: there is no store for its device.
  [[nodiscard]] std::uint64_t copy_ns(const StorageRecord& record) const;
  [[nodiscard]] std::uint64_t cost_ns(const Value& kept) const;

 private:
  [[nodiscard]] Store* store_of(const StorageRecord& record) const {
    return stores_.of(static_cast<int>(record.address->device_type()));
  }
  std::unique_ptr<StoredCopy> put(Store& store, const void* from, std::uint64_t bytes);
  bool store(StorageRecord& record);
  bool drop_spare_copies();
  c10::Storage read_again(StoredCopy& copy, c10::DeviceType type, std::uint64_t bytes);
  c10::Storage arrived(StorageRecord& record);
  Status finish(StoredCopy& copy);

  StorageBook& book_;
  Stores& stores_;
  ResidencyCounter& counter_;
  RescueWatch& rescue_;
  std::vector<StorageRecord*> being_stored_;  ///< those with this flag
  bool poison_ = false;
  ContentWatch* watch_ = nullptr;
  AsideWatch* aside_ = nullptr;
};

}  // namespace stowage::recompute
