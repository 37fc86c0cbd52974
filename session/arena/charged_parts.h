// Which parts of an arena the ledger counts, where it has no room for all of it yet.
//
// An arena replaces memory that PyTorch's own allocator still holds when a job switches to its plan: what the
// last iteration left, such as gradients. Where a device commits memory on first touch, the arena is counted
// block by block as the job uses it, while the other side shrinks; their sum never exceeds the limit.
// Thread safety: every member, from any thread; one mutex, under which only the ledger is called.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/units.h"
#include "session/arena/retirable_arena.h"

namespace stowage::session {

class ChargedParts {
 public:
  /// All of `arena` is counted now, or nothing.
  void begin(RetirableArena& arena);
  /// Counts the block's bytes that are not counted yet. False, and counts nothing: the budget has no room.
  [[nodiscard]] bool add(std::uint64_t offset, Bytes bytes);
  /// Counts all that is mapped. False: the budget has no room.
  [[nodiscard]] bool add_all();
  /// [begin, end) is to be counted again when it is used. How many of its bytes are counted, until give().
  Bytes forget(std::uint64_t begin, std::uint64_t end);
  /// So many of the forgotten bytes are no longer counted.
  void give(Bytes bytes);

 private:
  [[nodiscard]] std::uint64_t counted_in(std::uint64_t first, std::uint64_t last) const;

  std::mutex mutex_;
  RetirableArena* arena_ = nullptr;
  std::vector<bool> counted_;  ///< by granule
};

}  // namespace stowage::session
