// Pinned host memory in large blocks, cut into pieces: where tensors of CUDA devices are offloaded to.
//
// Pinning takes about half a second a GiB, so a block is pinned once and kept. Copies run in the order of the
// stream they are queued on, and so does the reuse of a piece: a block belongs to one stream, and goes to
// another one only when it is empty, which then waits for the first.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/units.h"
#include "recompute/stores/extents.h"

namespace stowage::plugin {

/// Makes `later` wait for what is queued on `sooner`. False if CUDA refuses.
bool put_in_order(cudaStream_t sooner, cudaStream_t later);

class PinnedMemory {
 public:
  static constexpr std::uint64_t kBlock = std::uint64_t{64} << 20;

  /// `limit`: bytes that may be pinned.
  explicit PinnedMemory(Bytes limit) : limit_(limit.value()) {}
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  struct Piece {
    std::size_t block;
    recompute::Extent extent;
  };
  /// Room for copies on `stream`. `bytes` <= kBlock. Nothing: the limit is reached, or no more can be pinned.
  std::optional<Piece> take(std::uint64_t bytes, cudaStream_t stream);
  /// What was queued with it is done before it is used again, if it was queued on the stream of take().
  void give_back(const Piece& piece) { blocks_[piece.block].extents.give_back(piece.extent); }
  [[nodiscard]] std::byte* address_of(const Piece& piece) const {
    return blocks_[piece.block].base + piece.extent.offset;
  }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t pinned() const { return blocks_.size() * kBlock; }

 private:
  static constexpr std::uint64_t kGrain = 512;
  struct Block {
    std::byte* base;
    cudaStream_t stream;
    recompute::Extents extents{kGrain};
  };
  bool add_block(cudaStream_t stream);

  std::uint64_t limit_;
  std::vector<Block> blocks_;
};

}  // namespace stowage::plugin
