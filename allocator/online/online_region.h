// A whole arena that is served online, by best fit, for jobs whose iterations never repeat.
//
// Small and large requests, and those of each stream, have pools of their own (online_pool.h): a small block
// that stays must not split room for a large one, and only stream order makes reuse safe without waiting
// (layout/stream_regions.h). What a pool has must be in one piece, or its end could not
// serve what is larger: the two pools of the default stream get far more addresses than they will need at
// once, others get theirs in large steps. Memory comes by segments, as it is used. Holes with memory are
// preferred to holes without.
//
// Thread safety: as OnlineMemory: under the lock of the hot path but for give_back().
// Invariants: live blocks are disjoint and have memory behind them; a segment is of one pool.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "allocator/arena/arena.h"
#include "allocator/online/online_memory.h"
#include "allocator/online/online_pool.h"

namespace stowage::allocator {

class OnlineRegion {
 public:
  /// `arena` outlives this, and nothing else uses it. `expected`: what the job will probably need.
  OnlineRegion(Arena& arena, Bytes expected);

  /// A live block for the request, or nullptr: there is no room, or no memory.
  Owner* take(Bytes requested, StreamId stream) noexcept;
  /// Bytes that take() would need from the device.
  [[nodiscard]] Bytes lacking(Bytes requested, StreamId stream) const noexcept;
  /// The live block that begins at `offset`, or nullptr.
  [[nodiscard]] Owner* live_at(std::uint64_t offset) const noexcept;
  /// Frees a live block.
  void vacate(const Owner& owner) noexcept;
  /// Calls `work` with each live block, in no order.
  template <class Work>
  void for_live(const Work& work) const {
    for (const auto& [offset, block] : live_) work(block->owner);
  }
  /// Nothing is given out any more.
  void close() noexcept { closed_ = true; }
  /// Memory in which nothing lives leaves: the highest segments from `from` on, until they are `most` bytes
  /// or more. give_back() and OnlineMemory::put_back() follow.
  void take_out(Offset from, Bytes most);
  /// Bytes of the segments that something lies in which begins at none of the offsets `but` (ascending).
  [[nodiscard]] Bytes pinned(const std::vector<std::uint64_t>& but) const;
  [[nodiscard]] OnlineMemory& memory() noexcept { return memory_; }
  [[nodiscard]] const OnlineMemory& memory() const noexcept { return memory_; }

 private:
  OnlinePool& pool_for(std::uint64_t bytes, StreamId stream);
  [[nodiscard]] OnlineBlock* choose(const OnlinePool& pool, std::uint64_t bytes) const;
  OnlineBlock* extend(OnlinePool& pool, std::uint64_t bytes);

  OnlineMemory memory_;
  std::uint64_t end_ = 0;  ///< of what belongs to a pool
  std::vector<std::unique_ptr<OnlinePool>> pools_;
  std::pmr::unsynchronized_pool_resource nodes_;
  std::pmr::unordered_map<std::uint64_t, OnlineBlock*> live_{&nodes_};  ///< by offset
  bool closed_ = false;
};

}  // namespace stowage::allocator
