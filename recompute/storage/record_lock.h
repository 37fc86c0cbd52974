// Keeps a storage resident while an op or a recomputation needs it.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

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
