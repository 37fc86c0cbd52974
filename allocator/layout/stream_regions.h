// Which addresses of an arena each stream has, for as long as the arena lives.
//
// Why: memory that one stream freed may still be read by work in flight on it. Within a stream order makes
// reuse safe; from one stream to another nothing does. A plan keeps its streams apart by itself, but the next
// one, or one beside it, may lay them elsewhere. So an address that once was one stream's stays that stream's
// until the arena is unmapped, which waits for the device. Thread safety: none. Invariant: regions of
// different streams are disjoint.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/plan.h"

namespace stowage::allocator {

class StreamRegions {
 public:
  /// Adds the slots of all `plans`. Error: kInvalidPlan if two streams would share an address; the regions
  /// then stay as they were. O(n log n) in entries and regions.
  Status admit(const std::vector<Plan>& plans);
  /// [begin, end) becomes the stream's too; false, and nothing changes, if a part of it is another one's.
  bool claim(std::uint64_t begin, std::uint64_t end, StreamId stream);
  /// All of them, in order of address.
  [[nodiscard]] std::vector<StreamRange> ranges() const;

 private:
  struct Region {
    std::uint64_t end = 0;
    std::uint32_t stream = 0;
  };
  static bool add(std::map<std::uint64_t, Region>& regions, std::uint64_t begin, Region region);

  std::map<std::uint64_t, Region> regions_;  ///< by begin
};

}  // namespace stowage::allocator
