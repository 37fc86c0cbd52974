#include "planner/placement/decode.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "planner/placement/containment.h"
#include "planner/placement/offset_index.h"
#include "planner/placement/terrain.h"

namespace stowage::planner::placement {
namespace {

/// Smaller comes first. Areas are compared as doubles: exact enough for an order, and they cannot overflow.
double leading_key(const Piece& piece, Key key) {
  switch (key) {
    case Key::kSize:
      return -static_cast<double>(piece.size);
    case Key::kArea:
      return -static_cast<double>(piece.size) * static_cast<double>(piece.duration);
    case Key::kDuration:
      return -static_cast<double>(piece.duration);
    case Key::kBirth:
      return piece.life.wrapped_end != 0 ? -1.0 : static_cast<double>(piece.birth);
    case Key::kEnd:
      return -static_cast<double>(piece.birth + piece.duration);
  }
  return 0;
}

OffsetIndex index_with_obstacles(const Instance& instance) {
  OffsetIndex index(instance.ranks);
  for (const Obstacle& obstacle : instance.obstacles)
    index.insert(obstacle.life, obstacle.offset, obstacle.size);
  return index;
}

std::uint64_t obstacle_height(const Instance& instance) {
  std::uint64_t height = 0;
  for (const Obstacle& obstacle : instance.obstacles)
    height = std::max(height, obstacle.offset + obstacle.size);
  return height;
}

void begin_draft(const Instance& instance, Draft& draft) {
  draft.offsets.assign(instance.pieces.size(), 0);
  draft.height = obstacle_height(instance);
}

void settle(const Instance& instance, std::uint32_t piece, std::uint64_t offset, Draft& draft) {
  draft.offsets[piece] = offset;
  draft.height = std::max(draft.height, offset + instance.pieces[piece].size);
}

bool wraps(const Piece& piece) { return piece.life.wrapped_end != 0; }

/// On closed ground: fills the lowest plateau with the first waiting piece that lies within it; a plateau
/// that none fits is given up to the height of its lower neighbour.
bool fill_plateaus(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter,
                   Draft& draft) {
  Containment waiting(instance, order);
  Terrain terrain(instance.ranks, instance.floor,
                  std::any_of(instance.pieces.begin(), instance.pieces.end(), wraps));
  for (std::size_t left = order.size(); left > 0;) {
    const Plateau plateau = terrain.lowest();
    std::uint64_t work = 16;
    const std::uint32_t position = waiting.first_within(plateau.span, work);
    if (!meter.spend(work)) return false;
    if (position == Containment::kNone) {
      terrain.raise(plateau.span, plateau.next);
      continue;
    }
    const Piece& piece = instance.pieces[order[position]];
    const std::uint64_t offset = align_up(plateau.height, piece.alignment);
    waiting.remove(position);
    terrain.raise(piece.life, offset + piece.size);
    settle(instance, order[position], offset, draft);
    --left;
  }
  return true;
}

/// Among obstacles: positions only rise as pieces are placed, so a heap entry that is out of date is
/// refreshed when it comes up.
bool fill_gaps(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter,
               Draft& draft) {
  using Waiting =
      std::pair<std::uint64_t, std::uint32_t>;  // lowest offset when last looked at, position in order
  std::vector<Waiting> heap;
  for (std::uint32_t position = 0; position < order.size(); ++position) heap.emplace_back(0, position);
  OffsetIndex index = index_with_obstacles(instance);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    auto& [known, position] = heap.back();
    const Piece& piece = instance.pieces[order[position]];
    std::uint64_t work = 1;
    const std::uint64_t offset = index.first_fit(piece, work);
    if (!meter.spend(work)) return false;
    if (offset == known) {
      index.insert(piece.life, offset, piece.size);
      settle(instance, order[position], offset, draft);
      heap.pop_back();
    } else {
      known = offset;
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  }
  return true;
}

}  // namespace

std::vector<std::uint32_t> sorted_order(const Instance& instance, Key key) {
  std::vector<std::uint32_t> order(instance.pieces.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<double> leading(order.size());
  for (std::uint32_t i : order) leading[i] = leading_key(instance.pieces[i], key);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Piece& x = instance.pieces[a];
    const Piece& y = instance.pieces[b];
    return std::tuple(leading[a], y.size, y.duration, x.birth, a) <
           std::tuple(leading[b], x.size, x.duration, y.birth, b);
  });
  return order;
}

bool place_in_order(const Instance& instance, std::span<const std::uint32_t> order, Fit fit, WorkMeter& meter,
                    Draft& draft) {
  OffsetIndex index = index_with_obstacles(instance);
  begin_draft(instance, draft);
  for (std::uint32_t piece : order) {
    const Piece& p = instance.pieces[piece];
    std::uint64_t work = 1;
    const std::uint64_t offset = fit == Fit::kFirst ? index.first_fit(p, work) : index.best_fit(p, work);
    if (!meter.spend(work)) return draft.offsets.clear(), false;
    index.insert(p.life, offset, p.size);
    settle(instance, piece, offset, draft);
  }
  return true;
}

bool place_lowest_first(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter,
                        Draft& draft) {
  begin_draft(instance, draft);
  const bool done = instance.flat() ? fill_plateaus(instance, order, meter, draft)
                                    : fill_gaps(instance, order, meter, draft);
  if (!done) draft.offsets.clear();
  return done;
}

}  // namespace stowage::planner::placement
