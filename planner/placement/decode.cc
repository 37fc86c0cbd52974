#include "planner/placement/decode.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "planner/placement/offset_index.h"
#include "planner/placement/skyline.h"

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

/// The loop of lowest-first over any way to find and take a position. Positions only rise as pieces are
/// placed, so a heap entry that is out of date is refreshed when it comes up.
template <class Lowest, class Take>
bool lowest_first(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter,
                  Draft& draft, Lowest lowest, Take take) {
  using Waiting =
      std::pair<std::uint64_t, std::uint32_t>;  // lowest offset when last looked at, position in order
  std::vector<Waiting> heap;
  heap.reserve(order.size());
  for (std::uint32_t position = 0; position < order.size(); ++position)
    heap.emplace_back(instance.floor, position);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  begin_draft(instance, draft);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto [known, position] = heap.back();
    const std::uint32_t piece = order[position];
    const std::uint64_t offset = lowest(instance.pieces[piece]);
    if (!meter.spend(16)) return draft.offsets.clear(), false;
    if (offset == known) {
      take(instance.pieces[piece], offset);
      settle(instance, piece, offset, draft);
      heap.pop_back();
    } else {
      heap.back().first = offset;
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
  if (instance.flat()) {
    Skyline skyline(instance.ranks, instance.floor);
    return lowest_first(
        instance, order, meter, draft,
        [&](const Piece& p) { return align_up(skyline.highest(p.life), p.alignment); },
        [&](const Piece& p, std::uint64_t offset) { skyline.raise(p.life, offset + p.size); });
  }
  OffsetIndex index = index_with_obstacles(instance);
  return lowest_first(
      instance, order, meter, draft,
      [&](const Piece& p) {
        std::uint64_t work = 0;
        const std::uint64_t offset = index.first_fit(p, work);
        meter.spend(work);
        return offset;
      },
      [&](const Piece& p, std::uint64_t offset) { index.insert(p.life, offset, p.size); });
}

}  // namespace stowage::planner::placement
