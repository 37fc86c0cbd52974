// Takes the data out of a storage, which then points into the guard range, and puts data into it again; or
// moves it to other memory.
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
/// One of `bytes` that has none: it points into the guard range. Requires: that covers it.
c10::Storage unreadable_storage(c10::Device device, std::uint64_t bytes);
/// `made` has the bytes, and is empty afterwards. Requires: `record` is alive.
void put_bytes_back(StorageRecord& record, c10::Storage& made);

/// True if it is alive, its bytes are its allocator's where they are in memory, and no code that is not seen
/// may reach them: nothing prevents that they lie elsewhere. Cheap.
[[nodiscard]] bool may_lie_elsewhere(const StorageRecord& record);
/// may_lie_elsewhere(), and it is resident and unlocked.
[[nodiscard]] bool may_move(const StorageRecord& record);
/// Moves it to other memory of its device, which it takes as any request of the calling thread does, by a
/// copy on the tensor's own stream, in whose order its old memory goes to others. Requires: may_move(), and
/// that nothing is copied from it (Offloader::settle()). Throws what the allocation throws (out of memory);
/// then it is where it was.
void move_bytes(StorageRecord& record);

}  // namespace stowage::recompute
