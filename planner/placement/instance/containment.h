// Finds, among the pieces that still wait, the first in an order whose life lies within a stretch of time.
//
// A two-dimensional tree over (begin, end) whose nodes know the earliest waiting position below them; a query
// takes whole nodes that lie inside and passes over those that cannot improve on what it has. About sqrt(n)
// nodes at worst, few in practice. Where few pieces begin in the stretch, and most stretches are short, they
// are looked at one by one instead. Memory is linear.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

class Containment {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// All of the instance's pieces wait. `order` lists each once; positions are indices of it.
  /// Not to be used if the meter is out after it.
  Containment(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter);

  /// The least waiting position whose piece lies within `span`, or kNone. Adds the nodes looked at to `work`.
  [[nodiscard]] std::uint32_t first_within(const Life& span, std::uint64_t& work) const;
  /// No longer waits. Requires: it did.
  void remove(std::uint32_t position);

 private:
  struct Point {
    std::uint32_t begin;
    std::uint32_t end;  ///< beyond `ranks_` for wrapped lives
    std::uint32_t position;
  };
  struct Node {
    std::uint32_t first, last;  ///< its points, half-open
    std::uint32_t min_begin, max_begin, min_end, max_end;
    std::uint32_t earliest;  ///< least waiting position, kNone if nobody waits
  };
  static constexpr std::uint32_t kLeaf = 8;  ///< points in a leaf, at most

  void build(std::uint32_t node, std::uint32_t first, std::uint32_t last, bool by_begin, WorkMeter& meter);
  struct Starter {
    std::uint32_t end;  ///< beyond `ranks_` for wrapped lives
    std::uint32_t position;
  };
  static constexpr std::uint32_t kFew = 32;  ///< pieces that begin in a stretch, to be looked at one by one

  void list_starters(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter);
  void look(std::uint32_t begin, std::uint32_t end, std::uint32_t& best, std::uint64_t& work) const;
  void search(std::uint32_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t& best,
              std::uint64_t& work) const;

  std::uint32_t ranks_;
  std::vector<Point> points_;
  std::vector<Node> nodes_;                   ///< children of n are 2n and 2n + 1; the root is 1
  std::vector<std::uint32_t> leaf_of_;        ///< by position
  std::vector<std::uint32_t> slot_of_;        ///< by position: index in points_
  std::vector<Starter> starters_;             ///< waiting or not, by begin
  std::vector<std::uint32_t> starters_from_;  ///< by rank: the first that begins there or later
  std::vector<std::uint32_t> starter_of_;     ///< by position
};

}  // namespace stowage::planner::placement
