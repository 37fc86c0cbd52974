// One stream class of a problem in the form that placers work on: times compressed to ranks, wrapped
// lifetimes as two spans, and the addresses that other classes hold as obstacles.
//
// Compression keeps only births and deaths, so a rank stands for a stretch of time in which nothing changes.
// That makes the arrays dense for any times of the caller, and lets a span of 64-bit times fit in 8
// bytes.
//
// An item with gaps is a piece with parts: rectangles of its bytes over stretches of its life, outside of
// which it needs nothing. A placer may treat such a piece as solid, with its size during its whole life: that
// is safe, but the placement may be higher than necessary.
//
// Thread safety: immutable after build(); shared by all members of a portfolio.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/placement/problem/problem.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

/// Ranks that an item occupies: [begin, end), and for a wrapped lifetime also [0, wrapped_end).
struct Life {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t wrapped_end = 0;  ///< 0 when the lifetime does not wrap
};

/// The bytes [lower, upper) of a piece, in use during the ranks [begin, end).
struct Part {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint64_t lower = 0;  ///< bytes above the piece's offset
  std::uint64_t upper = 0;
};

/// One thing to place.
struct Piece {
  Life life;
  std::uint64_t size = 0;        ///< bytes, > 0
  std::uint64_t alignment = 1;   ///< bytes
  std::uint64_t duration = 0;    ///< length of the lifetime on the problem's own axis; for orders only
  std::uint64_t birth = 0;       ///< on the problem's own axis; for orders only
  std::uint32_t item = 0;        ///< index in the problem
  std::uint32_t first_part = 0;  ///< in Instance::parts
  std::uint32_t part_count = 0;  ///< 0: solid, all bytes during all of `life`

  [[nodiscard]] bool solid() const { return part_count == 0; }
};

/// Addresses in use during a life: a fixed item of this class (each part of it on its own, if it has gaps) or
/// a range that another class holds.
struct Obstacle {
  Life life;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// A range of addresses, half-open, in bytes.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Instance {
  std::vector<Piece> pieces;  ///< free to be placed, in order of item
  /// Of the pieces with gaps: by piece, none empty, disjoint. An item that its gaps leave nothing is no
  /// piece. Where there are several classes or regions all pieces are solid, for what lies in a gap may be
  /// another class's, which must not share the address; then only the bound knows of gaps.
  std::vector<Part> parts;
  std::vector<Obstacle> obstacles;  ///< in place before any piece, by offset
  std::uint32_t stream_class = 0;
  std::uint32_t ranks = 0;          ///< number of ranks; every span lies in [0, ranks)
  std::uint64_t live = 0;           ///< most live bytes of the class, fixed items included
  std::uint64_t bound = 0;          ///< no placement of pieces and obstacles is lower, in bytes
  std::uint64_t goal = 0;           ///< a placement this low will do, if that is above the bound
  std::uint64_t floor = 0;          ///< [0, floor) is held by obstacles at all times, in bytes
  std::size_t floor_obstacles = 0;  ///< how many obstacles make the floor

  /// Where a piece with gaps needs what; empty for a solid one.
  [[nodiscard]] std::span<const Part> parts_of(const Piece& piece) const {
    return std::span<const Part>(parts).subspan(piece.first_part, piece.part_count);
  }

  /// The highest end of an obstacle, in bytes; no placement is lower.
  [[nodiscard]] std::uint64_t obstacle_height() const {
    std::uint64_t height = 0;
    for (const Obstacle& obstacle : obstacles) height = std::max(height, obstacle.offset + obstacle.size);
    return height;
  }

  /// Height at which there is no reason to continue.
  [[nodiscard]] std::uint64_t low_enough() const { return std::max(bound, goal); }

  /// True if the obstacles are no more than the floor, so that a placement from the bottom up has a closed
  /// underside.
  [[nodiscard]] bool flat() const { return floor_obstacles == obstacles.size(); }
};

/// The items of `stream_class` that occupy anything, with `taken` (ascending, disjoint) held by others at all
/// times. Once `limits` say stop it returns early, with an instance that is not to be used; its other limits
/// are not looked at.
Instance build_instance(const Problem& problem, std::uint32_t stream_class,
                        std::span<const AddressRange> taken, const Limits& limits = {});

/// Adds such ranges to an instance that has none.
void hold_ranges(Instance& instance, std::span<const AddressRange> taken);

}  // namespace stowage::planner::placement
