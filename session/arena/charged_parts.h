// Tracks which parts of an arena the ledger counts, while it has no room for all of it.
//
// An arena replaces memory that PyTorch's own allocator still holds when a job switches to its plan: what
// the last iteration left, such as gradients. On a device that commits memory at first touch, the ledger
// counts the arena block by block as the job uses it, while PyTorch's part shrinks; together they never
// exceed the limit. Thread safety: every member, from any thread; one mutex, under which only the ledger is
// called.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/units.h"
#include "session/arena/retirable_arena.h"

namespace stowage::session {

class ChargedParts {
 public:
  /// Starts tracking `arena`, of which the ledger counts everything or nothing now.
  void begin(RetirableArena& arena);
  /// Counts the block's bytes that are not counted yet. False, and counts none: the budget has no room.
  [[nodiscard]] bool add(std::uint64_t offset, Bytes bytes);
  /// Counts all that is mapped. False: the budget has no room.
  [[nodiscard]] bool add_all();
  /// [begin, end) counts again only when used. Returns how many of its bytes are counted, until give().
  Bytes forget(std::uint64_t begin, std::uint64_t end);
  /// Stops counting `bytes` that forget() returned.
  void give(Bytes bytes);

 private:
  [[nodiscard]] std::uint64_t counted_in(std::uint64_t first, std::uint64_t last) const;

  std::mutex mutex_;
  RetirableArena* arena_ = nullptr;
  std::vector<bool> counted_;  ///< by granule
};

}  // namespace stowage::session
