#include "planner/placement/greedy/lift.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "planner/placement/greedy/decode.h"
#include "planner/placement/instance/offset_index.h"

namespace stowage::planner::placement {
namespace {

/// How high what is placed reaches at each rank, as a segment tree in which heights only rise.
class HeightTree {
 public:
  HeightTree(std::uint32_t ranks, std::uint64_t floor)
      : leaves_(std::bit_ceil(std::max(ranks, 1u))), nodes_(2 * std::size_t{leaves_}, Node{floor, floor}) {}

  [[nodiscard]] std::uint64_t highest(std::uint32_t begin, std::uint32_t end) const {
    std::uint64_t height = 0;
    for_cover(begin, end, [&](std::uint32_t node) { height = std::max(height, nodes_[node].highest); });
    for_ancestors(begin, end,
                  [&](std::uint32_t node) { height = std::max(height, nodes_[node].everywhere); });
    return height;
  }
  void raise(std::uint32_t begin, std::uint32_t end, std::uint64_t height) {
    for_cover(begin, end, [&](std::uint32_t node) { nodes_[node] = {height, height}; });
    for_ancestors(begin, end,
                  [&](std::uint32_t node) { nodes_[node].highest = std::max(nodes_[node].highest, height); });
  }

 private:
  struct Node {
    std::uint64_t highest;     ///< at some rank below the node
    std::uint64_t everywhere;  ///< all ranks below the node reach it
  };

  /// The nodes that make up [begin, end).
  template <class F>
  void for_cover(std::uint32_t begin, std::uint32_t end, const F& f) const {
    std::uint32_t left = begin + leaves_, right = end + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2 != 0) f(left++);
      if (right % 2 != 0) f(--right);
    }
  }
  /// The nodes above the first and the last rank; some of them twice.
  template <class F>
  void for_ancestors(std::uint32_t begin, std::uint32_t end, const F& f) const {
    std::uint32_t left = (begin + leaves_) / 2, right = (end - 1 + leaves_) / 2;
    for (; left != right; left /= 2, right /= 2) {
      f(left);
      f(right);
    }
    for (; left != 0; left /= 2) f(left);
  }

  std::uint32_t leaves_;
  std::vector<Node> nodes_;
};

}  // namespace

bool lift(const Instance& instance, std::span<const std::uint64_t> were, WorkMeter& meter, Draft& draft) {
  std::vector<std::uint32_t> order(instance.pieces.size());
  std::iota(order.begin(), order.end(), 0u);
  if (!sort_by_keys(order, std::vector<std::uint64_t>(were.begin(), were.end()), meter)) return false;
  draft.offsets.assign(order.size(), 0);
  draft.height = instance.floor;
  HeightTree reached(instance.ranks, instance.floor);
  for (const std::uint32_t i : order) {
    if (!meter.spend(8)) return ran_out(draft);
    const Piece& piece = instance.pieces[i];
    const Life& life = piece.life;
    std::uint64_t below = reached.highest(life.begin, life.end);
    if (life.wrapped_end != 0) below = std::max(below, reached.highest(0, life.wrapped_end));
    if (were[i] != kOnTop) below = std::max(below, were[i]);
    const std::uint64_t offset = align_up(below, piece.alignment);
    reached.raise(life.begin, life.end, offset + piece.size);
    if (life.wrapped_end != 0) reached.raise(0, life.wrapped_end, offset + piece.size);
    draft.offsets[i] = offset;
    draft.height = std::max(draft.height, offset + piece.size);
  }
  return true;
}

}  // namespace stowage::planner::placement
