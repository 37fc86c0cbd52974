// Tensors in fewer bytes, lossless for the one op that reads them again: ops of the namespace `stowage`,
// which are recorded, recomputed and timed as any other.
//
//   pack_bits(Tensor self) -> Tensor                                    one bit for each element of a mask
//   unpack_bits(Tensor bits, int[] sizes, int[] strides) -> Tensor                                     bool
//   narrow_indices(Tensor self, bool short) -> Tensor                             int64 as 16 bits, or as 32
//   widen_indices(Tensor narrow, int[] sizes, int[] strides) -> Tensor
// Bits are in planes: plane k has the kth eighth of the elements, in the order of memory. 16 bits hold
// indices below 65,536.
//
// Source: Gist (Jain et al., ISCA 2018), which keeps a pooling's indices in few bits.
//
// Thread safety: every function, from any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace stowage::recompute {

/// Makes the ops known to PyTorch. Once per process. Throws what PyTorch throws.
void register_codecs();

/// Requires: `tensor` is bool, and covers its storage (shows_all()).
at::Tensor pack_bits(const at::Tensor& tensor);
/// True where the bit is set, with the sizes and strides of `like`, whose bytes are not read.
at::Tensor unpack_bits(const at::Tensor& bits, const at::Tensor& like);
/// Requires: `indices` are int64, none negative or above `largest`, and cover their storage.
at::Tensor narrow_indices(const at::Tensor& indices, std::int64_t largest);
at::Tensor widen_indices(const at::Tensor& narrow, const at::Tensor& like);

}  // namespace stowage::recompute
