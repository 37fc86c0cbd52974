// Moves living tensors to other memory of their device, so that those that last lie close together: what an
// allocator has left between them is of use to nobody.
//
// Optimizer state is born among activations, and what was offloaded comes back wherever there is room. Moved
// is what may be offloaded, but for the store: tensors that code may reach unseen stay. Tensors, views,
// version counters and saved tensors do not change. A move is a copy on the tensor's own stream, in whose
// order its old memory goes to others.
//
// Thread safety: none; the runtime's lock guards it. Allocations may call back into the eviction of others.
#pragma once

#include "recompute/away/offloader.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class Mover {
 public:
  explicit Mover(Offloader& offloader) : offloader_(offloader) {}

  /// True if it is in memory that an allocator owns, and nothing prevents that its address changes.
  [[nodiscard]] static bool may_move(const StorageRecord& record);
  /// Takes memory as any request of the present thread does, copies and frees the old. Requires: may_move().
  /// Throws what the allocation throws (out of memory); then it is where it was.
  void move(StorageRecord& record);

 private:
  Offloader& offloader_;
};

}  // namespace stowage::recompute
