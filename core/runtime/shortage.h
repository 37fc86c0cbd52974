// A request that does not fit, and what its allocator knows of the memory that is held. An error tells of it
// in parts that add up to the whole (Runtime::explain_shortage).
//
// Thread safety: a plain value. Invariant: all bytes are in the allocator's own count.
#pragma once

#include "core/units.h"

namespace stowage {

struct Shortage {
  Bytes wanted{0};
  Bytes held{0};
  /// Under which it was refused; 0: not told. Where room that is free has holes that may be less than would
  /// do by the count, and then so much more would.
  Bytes limit{0};
  Bytes idle_arena{0};  ///< of `held`: in the plan's arena, used by no tensor
  Bytes cached{0};      ///< of `held`: blocks that PyTorch's allocator keeps free, and their fragments
  Bytes workspaces{0};  ///< of `held`: cuBLAS's
};

}  // namespace stowage
