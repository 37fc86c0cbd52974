// A model of PyTorch's native CUDA caching allocator, for what-if figures on a trace when no GPU is there.
//
// Follows its documented constants: requests up to 1 MiB come from 2 MiB segments, below 10 MiB from 20 MiB
// segments, larger ones from segments rounded up to 2 MiB; best fit per stream; a remainder is split off from
// 512 B (small) or above 1 MiB (large); freed neighbours merge; segments are kept. With `expandable` each
// (stream, pool) is one growing range mapped in pages of 2 MiB (small) or 20 MiB (large), and every remainder
// is split off. Source: c10/cuda/CUDACachingAllocator.h, torch 2.11. Not modelled: garbage collection,
// release under memory pressure. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "core/units.h"

namespace stowage::allocator {

class CachingModel {
 public:
  enum class Segments { kFixed, kExpandable };
  explicit CachingModel(Segments segments) : segments_(segments) {}

  /// A model address for `rounded` > 0 bytes on `stream`.
  std::uint64_t allocate(Bytes rounded, StreamId stream);
  /// Requires: `address` came from allocate and is live.
  void free(std::uint64_t address);
  /// Bytes taken from the device so far; never shrinks.
  [[nodiscard]] Bytes reserved() const { return reserved_; }

 private:
  struct Pool {
    std::uint32_t stream;
    bool small;
    friend auto operator<=>(const Pool&, const Pool&) = default;
  };
  struct Block {
    std::uint64_t bytes;
    Pool pool;
    std::uint64_t segment;  ///< blocks merge only within one segment
    bool live;
  };
  using FreeKey = std::tuple<Pool, std::uint64_t, std::uint64_t>;  // pool, bytes, address
  using Blocks = std::map<std::uint64_t, Block>;

  /// `low` is free and ends where `high` begins, in the same segment.
  static bool is_free_neighbour(const Blocks::value_type& low, const Blocks::value_type& high);
  Blocks::iterator add_segment(std::uint64_t bytes, Pool pool);
  Blocks::iterator extend_range(std::uint64_t bytes, Pool pool);
  /// Best fit. A block that can grow counts as large as its range may become, so that any other is taken
  /// first.
  Blocks::iterator find_free(std::uint64_t bytes, Pool pool);
  /// The block lies at the growing end of an expandable range.
  [[nodiscard]] bool can_grow(const FreeKey& block) const;
  void split(Blocks::iterator block, std::uint64_t bytes);
  Blocks::iterator merge_with_next(Blocks::iterator block);
  void set_free(Blocks::iterator block);
  void set_taken(Blocks::iterator block);

  Segments segments_;
  Bytes reserved_{0};
  std::uint64_t next_segment_ = 0;
  std::map<Pool, std::uint64_t> range_end_;  ///< expandable: first unmapped address of each pool's range
  Blocks blocks_;
  std::set<FreeKey> free_;
};

}  // namespace stowage::allocator
