// Addresses of one pool, free or taken, for requests that no plan foresees: exact best fit.
//
// Why best fit: of equal holes the lowest, of all that fit the smallest, splits large holes least, so that
// what is free stays in one piece for the next large request. Freed neighbours merge at once.
// All but prepare() and add() take no memory and cannot fail: a free must not. For that each taken block has
// its node of the index by size in store. The free block at the end is in no index: most requests of a
// growing job are cut from it.
//
// Thread safety: none. Invariants: blocks cover what was added, without overlap; no two free blocks touch;
// there are at least as many stored nodes as taken blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "allocator/layout/owner_table.h"

namespace stowage::allocator {

class OnlinePool;
struct OnlineBlock;

/// Where a free block stands among others of its pool.
struct OnlineSize {
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;
  OnlineBlock* block = nullptr;
  friend bool operator<(const OnlineSize& one, const OnlineSize& other) {
    return one.bytes != other.bytes ? one.bytes < other.bytes : one.begin < other.begin;
  }
};

/// A stretch [owner.offset, end) of a pool. Taken exactly if its owner is live.
struct OnlineBlock {
  Owner owner;
  std::uint64_t end = 0;
  OnlineBlock* before = nullptr;  ///< its neighbours in order of address, which need not touch it
  OnlineBlock* after = nullptr;
  OnlinePool* pool = nullptr;
  std::set<OnlineSize>::iterator listed;  ///< while the pool's index has it

  [[nodiscard]] std::uint64_t begin() const { return owner.offset; }
  [[nodiscard]] std::uint64_t bytes() const { return end - owner.offset; }
  [[nodiscard]] bool is_free() const { return !owner.live(); }
};

class OnlinePool {
 public:
  OnlinePool() = default;
  OnlinePool(const OnlinePool&) = delete;
  OnlinePool& operator=(const OnlinePool&) = delete;

  /// [begin, end), which lies above all that was added before, is free. Throws std::bad_alloc.
  void add(std::uint64_t begin, std::uint64_t end);
  /// The smallest free block but tail() of at least `bytes` that `fits`; of equal ones the lowest; nullptr:
  /// none.
  template <class Fits>
  [[nodiscard]] OnlineBlock* tightest(std::uint64_t bytes, const Fits& fits) const {
    for (auto at = sizes_.lower_bound({bytes, 0, nullptr}); at != sizes_.end(); ++at) {
      if (fits(*at->block)) return at->block;
    }
    return nullptr;
  }
  /// Of all that was added.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// The free block that ends where the pool ends, or nullptr.
  [[nodiscard]] OnlineBlock* tail() const { return last_ != nullptr && last_->is_free() ? last_ : nullptr; }
  /// Makes sure that take() and the free that will follow need no memory. Throws std::bad_alloc.
  void prepare();
  /// Cuts `bytes` from the beginning of a free block; the caller makes its owner live. Requires: prepare(),
  /// and hole.bytes() >= bytes.
  OnlineBlock& take(OnlineBlock& hole, std::uint64_t bytes) noexcept;
  /// The block is free, and its owner no longer live.
  void give(OnlineBlock& block) noexcept;
  /// Calls `work` with each block in order of address.
  template <class Work>
  void for_blocks(const Work& work) const {
    for (OnlineBlock* block = first_; block != nullptr; block = block->after) work(*block);
  }

 private:
  using Sizes = std::set<OnlineSize>;

  OnlineBlock* new_block();
  void store_node();
  void append(OnlineBlock& block) noexcept;
  void drop(OnlineBlock& block) noexcept;
  void list(OnlineBlock& block) noexcept;
  void unlist(OnlineBlock& block) noexcept;

  std::deque<OnlineBlock> blocks_;
  OnlineBlock* unused_ = nullptr;  ///< linked by `after`
  OnlineBlock* first_ = nullptr;
  OnlineBlock* last_ = nullptr;
  Sizes sizes_;                          ///< of the free blocks but tail()
  std::vector<Sizes::node_type> nodes_;  ///< in store
  std::size_t node_count_ = 0;           ///< in store and in sizes_
  std::size_t taken_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace stowage::allocator
