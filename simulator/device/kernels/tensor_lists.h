// The lists of tensors that PyTorch's foreach ops give to their kernels: where in them the pointers lie.
//
// Why: optimizers, gradient clipping and torch._foreach_* launch one kernel for many tensors, whose addresses
// stand in one structure given by value; which of its entries are in use follows from its map of blocks to
// tensors. The layout is that of the torch that the simulator was built against (generate_layouts.py). Thread
// safety: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace stowage::simulator {

/// Offsets are in bytes from the structure's beginning, where the addresses stand: `lists` rows of `tensors`.
struct TensorLists {
  std::size_t lists = 0;
  std::size_t tensors = 0;  ///< that one structure can hold
  std::size_t blocks = 0;   ///< that one structure can hold
  std::size_t steps = 0;    ///< offset of the fused optimizers' step counters; 0 where there are none
  std::size_t block_to_tensor = 0;
  std::size_t index_bytes = 1;  ///< of one entry of block_to_tensor
};

/// The structure of this demangled type; nothing where it is no list of tensors.
std::optional<TensorLists> tensor_lists(std::string_view type);

/// The addresses that a kernel of `blocks` blocks reads from the structure at `argument`.
std::vector<const void*> addresses_in(const TensorLists& layout, const void* argument, std::uint64_t blocks);

}  // namespace stowage::simulator
