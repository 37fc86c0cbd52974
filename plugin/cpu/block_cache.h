// Large heap blocks that were freed under a budget, kept for the next request of the same size.
//
// Under a budget the heap returns large blocks to the system at once, so that the process's resident size
// follows what tensors hold. Allocating them again would cost a page fault for every 4 KiB. Kept blocks stay
// counted in the ledger and are freed first when memory is needed. Thread safety: every member, from any
// thread; one mutex, under which nothing else is called. A forked child allocates through it, too.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "core/support/fork.h"
#include "core/units.h"

namespace stowage::plugin {

class BlockCache {
 public:
  BlockCache();

  /// A kept block of at least `bytes` and at most 1/16 more; null: there is none.
  void* take(std::size_t bytes) noexcept;
  /// Keeps a block of `bytes` that the ledger has as `counted`. False: it is too small, or there are too
  /// many.
  bool keep(void* address, std::size_t bytes, std::size_t counted) noexcept;
  /// Removes the oldest block and hands it to the caller; null: there is none.
  void* oldest() noexcept;
  /// What the ledger has for all kept blocks.
  [[nodiscard]] Bytes counted() const noexcept;
  /// Keeps the lock free in a forked child. Requires: the cache lives as long as the process.
  void hold_over_forks() { stowage::hold_over_forks(mutex_); }

 private:
  struct Block {
    void* address;
    std::size_t bytes;
    std::size_t counted;
  };
  void* remove(std::size_t at) noexcept;

  mutable std::mutex mutex_;
  std::vector<Block> blocks_;  ///< in order of age
  std::size_t counted_ = 0;
};

}  // namespace stowage::plugin
