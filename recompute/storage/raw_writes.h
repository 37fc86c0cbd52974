// Tensors whose address Python was told as a number (`data_ptr()`), and whether anybody writes through it.
//
// Most who ask for an address compare it with another, or use it at once. So memory is not taken to change
// behind every op from then on: instead each op that reads it notes a digest of its bytes, and whoever counts
// on that content later compares. A difference that no op explains tells of a writer, and nothing is computed
// from that memory any more that could be evicted.
//
// Thread safety: none; the runtime's lock guards it. Invariants: only CPU storages are watched.
#pragma once

#include <cstdint>

#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

/// A digest of `bytes` of CPU memory, as fast as they are read.
std::uint64_t digest_of(const void* data, std::uint64_t bytes);

/// Somebody was told the address of `record`'s memory. Requires: it is resident, and its present value is a
/// leaf that nothing evicted starts from.
void watch_for_raw_writes(StorageRecord& record);

/// An op is about to read `record`'s present value, a leaf, and its result is recorded: notes the content, or
/// finds a writer, as does check_raw_writes(). Cheap where nobody was told the address.
void note_content(StorageRecord& record);

/// Compares with what was noted. Where unseen code wrote, `record` is exposed for good. False then. True if
/// nothing was noted of the present value.
bool check_raw_writes(StorageRecord& record);
/// Throws where that is false: what is to be made again would have other bits.
void require_no_raw_writes(StorageRecord& record);

}  // namespace stowage::recompute
