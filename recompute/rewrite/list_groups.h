// Ops on lists of tensors in groups: foreach and fused optimizers, clipping of gradients and gradient scaling
// each read all parameters, gradients or states in one op. Under a limit that is too much to have in memory
// at once.
//
// What such an op does to the i-th tensors of its lists depends on these alone, so several calls with parts
// of the lists leave the same bits. On CUDA PyTorch has two sorts of kernels and chooses by all tensors of a
// call; a call is only cut where each part gets the sort that the whole would get (ForeachUtils.h). Which ops
// these are is derived from their schemas (tensorwise() in op_traits.h); a test runs every one of them both
// ways.
//
// An optimizer's step is a row of such ops, and keeps a list of temporary tensors from one to the next. They
// can be made again a part at a time, if all ops are cut at the same tensors: so it is the size of these that
// decides, not how many lists a call reads.
//
// Thread safety: for the calling thread.
#pragma once

#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {

class ListGroups {
 public:
  /// Looks at a call's arguments. `most`: bytes that one part may read and make, if it has several tensors.
  ListGroups(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments, std::uint64_t most);

  /// Parts to run; 1 or 0: the call is not cut.
  [[nodiscard]] std::size_t count() const { return ends_.size(); }
  /// The arguments of a part.
  [[nodiscard]] torch::jit::Stack arguments_of(std::size_t part) const;
  /// Adds what a part returned to what the parts before it did.
  static void add_results(torch::jit::Stack& all, const torch::jit::Stack& more);

 private:
  [[nodiscard]] bool all_get_one_sort_of_kernel() const;
  [[nodiscard]] std::uint64_t lists_in_memory() const;
  [[nodiscard]] bool goes_along(std::size_t argument) const;

  const OpTraits& traits_;
  c10::ArrayRef<c10::IValue> arguments_;
  std::vector<std::vector<at::Tensor>> lists_;  ///< those that are as long as the first
  std::vector<std::size_t> ends_;               ///< by part: the index behind its last tensor
};

}  // namespace stowage::recompute
