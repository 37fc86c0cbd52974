// Placed pieces in order of offset, with a coarse picture of when each stretch of them is alive.
//
// A fit is found by walking up from the bottom past the pieces that live at the same time. The walk is what
// placement costs, so pieces stand in chunks, and a chunk whose pieces are all dead during the asker's life
// (by a 64-slice bit picture of time) is skipped whole. Training traces nest, so most chunks are.
//
// Where lives are short and come in no order, hardly any chunk is; so many entries also stand in a grid over
// time (TimeGrid), and an asker whom few of them meet collects those and sorts them by offset.
//
// Thread safety: one thread. Wrapped lives stand as two entries, pieces with gaps as one for each part.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

/// A life's place among placed pieces.
struct Standing {
  std::uint64_t offset;
  std::uint64_t end;
  std::uint32_t begin_rank;
  std::uint32_t end_rank;
};

/// Entries by when they live: in the cell where their life begins, on the level whose cells are as long as
/// that life or longer. So an asker meets them in a few cells of each level.
class TimeGrid {
 public:
  explicit TimeGrid(std::uint32_t ranks);

  void insert(const Standing& entry);
  /// How many entries stand in the cells that collect() would look at; stops counting above `most`.
  [[nodiscard]] std::size_t count(std::uint32_t begin, std::uint32_t end, std::size_t most) const;
  /// Adds the entries alive at any of the ranks [begin, end).
  void collect(std::uint32_t begin, std::uint32_t end, std::vector<Standing>& met) const;

 private:
  struct Level {
    unsigned shift;  ///< a cell is 2^shift ranks
    std::vector<std::vector<Standing>> cells;
  };
  static constexpr std::uint32_t kMostCells = 4096;  ///< on a level

  template <class F>
  void for_cells(std::uint32_t begin, std::uint32_t end, const F& f) const;

  std::vector<Level> levels_;
};

class OffsetIndex {
 public:
  /// Requires: every Life used lies in [0, ranks).
  explicit OffsetIndex(std::uint32_t ranks) : ranks_(ranks) {}

  /// Puts a piece in place; what it overlaps is not checked.
  void insert(const Life& life, std::uint64_t offset, std::uint64_t size);
  /// The same for a piece of the instance, with gaps or without.
  void insert(const Instance& instance, const Piece& piece, std::uint64_t offset);
  /// The lowest offset that overlaps no piece. Requires: the piece is solid, or may be taken for it. Adds the
  /// entries looked at to `work`.
  [[nodiscard]] std::uint64_t first_fit(const Piece& piece, std::uint64_t& work) const;
  /// The offset in the tightest gap, or on top of all if no gap is large enough. Adds to `work` as above.
  [[nodiscard]] std::uint64_t best_fit(const Piece& piece, std::uint64_t& work) const;
  /// The lowest offset at which no part overlaps any piece. Adds to `work` as above.
  [[nodiscard]] std::uint64_t first_fit(std::span<const Part> parts, std::uint64_t alignment,
                                        std::uint64_t& work) const;

 private:
  using Entry = Standing;
  struct Chunk {
    std::uint64_t slices = 0;  ///< bit s: some entry is alive in slice s
    std::uint64_t top = 0;     ///< the highest end
    std::vector<Entry> entries;
  };
  /// How far a part has walked.
  struct Climb {
    std::uint64_t slices;
    std::size_t chunk, entry;
  };
  static constexpr std::size_t kChunk = 64;  ///< entries; split at twice that

  static constexpr std::size_t kWorthGrid = 2048;  ///< entries from which on there may be a grid
  static constexpr std::uint64_t kWorthWalks = 8;  ///< walks past all entries for which it pays
  static constexpr std::size_t kSortFactor =
      8;  ///< a collected entry costs as much as this many that are walked past

  void insert_span(Entry entry);
  void append(const Entry& entry);
  void insert_in_chunk(const Entry& entry);
  void make_grid() const;
  /// Fills `met_` with what meets the life, by offset, if that is cheaper than walking the chunks.
  [[nodiscard]] bool collect(const Life& life, std::uint64_t& work) const;
  bool climb(const Part& part, std::uint64_t alignment, Climb& from, std::uint64_t& candidate,
             std::uint64_t& work) const;
  void draw(Chunk& chunk) const;  ///< slices and top, computed again
  [[nodiscard]] std::uint64_t slices_of(std::uint32_t begin, std::uint32_t end) const;
  [[nodiscard]] std::uint64_t slices_of(const Life& life) const;
  [[nodiscard]] static bool meets(const Entry& entry, const Life& life) {
    return (entry.begin_rank < life.end && life.begin < entry.end_rank) ||
           entry.begin_rank < life.wrapped_end;
  }

  std::uint32_t ranks_;
  std::vector<Chunk> chunks_;  ///< none empty; offsets ascend within and across
  std::size_t count_ = 0;      ///< entries
  mutable std::optional<TimeGrid> grid_;
  mutable std::uint64_t walked_ = 0;   ///< entries, so far
  mutable std::vector<Entry> met_;     ///< memory that collect() uses again
  mutable std::vector<Climb> climbs_;  ///< the same, of first_fit()
};

/// `offset` rounded up to a multiple of `alignment`.
constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) {
  const std::uint64_t rest = offset % alignment;
  return rest == 0 ? offset : offset + (alignment - rest);
}

}  // namespace stowage::planner::placement
