// Observer of each storage that is evicted or restored, for debugging.
//
// Thread safety: called with the runtime's lock held.
#pragma once

#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class ContentWatch {
 public:
  virtual ~ContentWatch() = default;
  /// `record` is about to be evicted; its bytes are still there.
  virtual void before_eviction(const StorageRecord& record) = 0;
  /// `record` is restored.
  virtual void after_restore(const StorageRecord& record) = 0;
  /// `record` died while it was evicted.
  virtual void forget(const StorageRecord& record) = 0;
};

}  // namespace stowage::recompute
