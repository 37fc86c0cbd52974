// What is away as no schedule says: rescue evicted or offloaded it. Whoever records the job's allocations is
// told, and can leave out what rescue does, since a plan's iterations will not need it.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <utility>

#include "recompute/storage/storage_book.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

/// Called under the runtime's lock, on the thread that evicts or restores. `id`: the storage's, as long as it
/// lives.
class RescueListener {
 public:
  virtual ~RescueListener() = default;
  /// The thread frees `address` next, since the storage there is evicted.
  virtual void leaves(const void* address, std::uint64_t id) noexcept = 0;
  /// What the thread allocates until end_return() serves only to bring such a storage back. They nest.
  virtual void begin_return() noexcept = 0;
  virtual void end_return() noexcept = 0;
  /// A storage is back, at `address`: one of those, or one that a schedule had sent away.
  virtual void is_back(const void* address, std::uint64_t id) noexcept = 0;
  /// It died, or the schedule would have sent it away by now.
  virtual void is_gone(std::uint64_t id) noexcept = 0;
};

class RescueWatch {
 public:
  /// From now on; null: no one is told.
  void listen(RescueListener* listener) { listener_ = listener; }

  /// `record`'s memory is about to be freed.
  void before_leaving(StorageRecord& record) {
    record.early = false;
    note_leaving(record, record.data);
  }
  /// The memory of its copy back, which a schedule has begun, is about to be freed.
  void before_dropping(StorageRecord& record, const void* arriving) {
    if (!record.rescued) note_leaving(record, arriving);
  }
  /// It has memory again. If a schedule had sent it away, and it was made on the way to what rescue had
  /// evicted, that is not told before the schedule wants it back.
  void after_return(StorageRecord& record) {
    record.early = !note_end(record) && returning_ > 0;
    if (listener_ != nullptr && !record.early) listener_->is_back(record.data, record.serial);
  }
  /// A schedule wants it back, and it is.
  void is_due(StorageRecord& record) {
    if (std::exchange(record.early, false) && listener_ != nullptr)
      listener_->is_back(record.data, record.serial);
  }
  /// It died, or a schedule wants it away.
  void forget(StorageRecord& record) {
    if (note_end(record) && listener_ != nullptr) listener_->is_gone(record.serial);
  }
  /// True if anything is away as no schedule says.
  [[nodiscard]] bool any_away() const { return away_ != 0; }

  /// While it exists, `record` is brought back.
  class Return {
   public:
    Return(RescueWatch& watch, const StorageRecord& record)
        : watch_(watch), listener_(record.rescued ? watch.listener_ : nullptr) {
      if (listener_ == nullptr) return;
      ++watch_.returning_;
      listener_->begin_return();
    }
    Return(const Return&) = delete;
    Return& operator=(const Return&) = delete;
    ~Return() {
      if (listener_ == nullptr) return;
      --watch_.returning_;
      listener_->end_return();
    }

   private:
    RescueWatch& watch_;
    RescueListener* const listener_;
  };

 private:
  void note_leaving(StorageRecord& record, const void* address) {
    if (listener_ == nullptr || this_thread().scheduled != 0) return;
    record.rescued = true;
    ++away_;
    listener_->leaves(address, record.serial);
  }
  bool note_end(StorageRecord& record) {
    if (record.rescued) --away_;
    return std::exchange(record.rescued, false);
  }

  RescueListener* listener_ = nullptr;
  std::uint64_t away_ = 0;  ///< storages that rescue has sent away
  int returning_ = 0;       ///< depth of Return
};

}  // namespace stowage::recompute
