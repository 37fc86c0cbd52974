// Tensors whose address Python got as a number (`data_ptr()`), and whether any code writes through it.
//
// Most code that gets an address compares it with another, or uses it immediately. So such memory is not
// assumed to change between ops. Instead each op that reads it notes a digest of its bytes, which is compared
// before that content is used again. A difference that no op explains proves a writer. From then on nothing
// that is computed from that memory can be evicted.
//
// Thread safety: none; the runtime's lock guards it. Invariants: only CPU storages are watched.
#pragma once

#include <cstdint>

#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

/// Some code got the address of `record`'s memory. Requires: it is resident, and its present value is a
/// leaf that nothing evicted starts from.
void watch_for_raw_writes(StorageRecord& record);

/// An op is about to read `record`'s present value, a leaf, and its result is recorded: notes the content, or
/// finds a writer, as does check_raw_writes(). Cheap where no code has the address.
void note_content(StorageRecord& record);

/// Compares with what was noted. Where unseen code wrote, `record` is exposed permanently. False then. True
/// if nothing was noted of the present value.
bool check_raw_writes(StorageRecord& record);
/// Throws where check_raw_writes() is false: a value made again would have other bits.
void require_no_raw_writes(StorageRecord& record);

}  // namespace stowage::recompute
