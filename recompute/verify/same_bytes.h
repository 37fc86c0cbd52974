// Compares what an op made with what its recipe makes again, bit by bit, on any device.
//
// Thread safety: the caller holds the runtime's lock. Runs ops below the interposer and autograd.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <optional>
#include <string>

namespace stowage::recompute {

/// Where two tensors of the same geometry differ.
struct Difference {
  std::int64_t elements = 0;   ///< all
  std::int64_t different = 0;  ///< of them
  std::int64_t first = 0;      ///< the first that differs, in row-major order
  std::string was;             ///< its value, and its bits in hexadecimal
  std::string is;

  [[nodiscard]] std::string text() const;
};

/// Compares `made` with the storage of `actual`. Bytes of the storage that `actual` does not show are not
/// compared: an op may leave them as they are. Nothing where all elements have the same bits.
std::optional<Difference> difference(const at::Tensor& actual, const c10::Storage& made);

/// A digest of all bytes of a storage.
std::uint64_t digest_of_bytes(const c10::Storage& storage);

/// Fills CPU memory with a pattern that is NaN in every floating-point type.
void fill_with_nan(const c10::Storage& storage);

}  // namespace stowage::recompute
