// Takes the data out of a storage, which then points into the guard range, and puts data into it again.
//
// Tensors, views, version counters and saved tensors do not change. Thread safety: the runtime's lock guards
// it.
#pragma once

#include <c10/core/Storage.h>

#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

/// Frees `record`'s bytes through their allocator. `poison`: those of the CPU are overwritten first.
/// Requires: it is alive and resident, and the guard range covers it.
void take_bytes_out(StorageRecord& record, bool poison);
/// `made` has the bytes, and is empty afterwards. Requires: `record` is alive.
void put_bytes_back(StorageRecord& record, c10::Storage& made);

}  // namespace stowage::recompute
