// Placed pieces in order of offset, with a coarse picture of when each stretch of them is alive.
//
// A fit is found by walking up from the bottom past the pieces that live at the same time. The walk is what
// placement costs, so pieces stand in chunks, and a chunk whose pieces are all dead during the asker's life
// (by a 64-slice bit picture of time) is skipped whole. Training traces nest, so most chunks are.
//
// Thread safety: one thread. Wrapped lives stand as two entries, pieces with gaps as one for each part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/placement/instance.h"

namespace stowage::planner::placement {

class OffsetIndex {
 public:
  /// Requires: every Life used lies in [0, ranks).
  explicit OffsetIndex(std::uint32_t ranks) : ranks_(ranks) {}

  /// Empty, with its memory kept.
  void clear() { chunks_.clear(); }
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
  /// True if [offset, offset + size) overlaps no piece during `life`.
  [[nodiscard]] bool is_free(const Life& life, std::uint64_t offset, std::uint64_t size) const;

 private:
  struct Entry {
    std::uint64_t offset;
    std::uint64_t end;
    std::uint32_t begin_rank;
    std::uint32_t end_rank;
  };
  struct Chunk {
    std::uint64_t slices = 0;  ///< bit s: some entry is alive in slice s
    std::uint64_t top = 0;     ///< the highest end
    std::vector<Entry> entries;
  };
  static constexpr std::size_t kChunk = 64;  ///< entries; split at twice that

  void insert_span(Entry entry);
  void draw(Chunk& chunk) const;  ///< slices and top anew
  [[nodiscard]] std::uint64_t slices_of(std::uint32_t begin, std::uint32_t end) const;
  [[nodiscard]] std::uint64_t slices_of(const Life& life) const;
  [[nodiscard]] static bool meets(const Entry& entry, const Life& life) {
    return (entry.begin_rank < life.end && life.begin < entry.end_rank) ||
           entry.begin_rank < life.wrapped_end;
  }

  std::uint32_t ranks_;
  std::vector<Chunk> chunks_;  ///< none empty; offsets ascend within and across
};

/// `offset` rounded up to a multiple of `alignment`.
constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) {
  const std::uint64_t rest = offset % alignment;
  return rest == 0 ? offset : offset + (alignment - rest);
}

}  // namespace stowage::planner::placement
