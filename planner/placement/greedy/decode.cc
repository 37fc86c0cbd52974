#include "planner/placement/greedy/decode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "planner/placement/instance/containment.h"
#include "planner/placement/instance/offset_index.h"
#include "planner/placement/problem/stretches.h"

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

/// Integers in the order of the numbers.
std::uint64_t ordered_bits(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}

}  // namespace

/// By digits, but for those in which no two keys differ.
bool sort_by_keys(std::vector<std::uint32_t>& order, const std::vector<std::uint64_t>& key_of,
                  WorkMeter& meter) {
  if (!meter.spend(order.size())) return false;
  const auto less = [&](std::uint32_t a, std::uint32_t b) { return key_of[a] < key_of[b]; };
  const auto stopped = [&meter] { return !meter.look_now(); };
  constexpr unsigned kBits = 11;
  constexpr std::uint64_t kMask = (1u << kBits) - 1;
  if (order.size() < kMask) {
    if (!std::is_sorted(order.begin(), order.end(), less)) std::stable_sort(order.begin(), order.end(), less);
    return true;
  }
  std::uint64_t differ = 0;
  bool sorted_already = true;
  const auto compare = [&](std::size_t i) {
    differ |= key_of[order[i]] ^ key_of[order.front()];
    sorted_already = sorted_already && (i == 0 || !less(order[i], order[i - 1]));
  };
  if (!in_stretches(order.size(), stopped, compare)) return false;
  if (sorted_already) return true;
  std::vector<std::uint32_t> sorted;
  if (!zeroed_in_stretches(sorted, order.size(), stopped)) return false;
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    if (((differ >> shift) & kMask) == 0) continue;
    if (!meter.spend(2 * order.size())) return false;
    std::array<std::uint32_t, kMask + 1> from{};
    const auto digit = [&](std::size_t i) { return (key_of[order[i]] >> shift) & kMask; };
    if (!in_stretches(order.size(), stopped, [&](std::size_t i) { ++from[digit(i)]; })) return false;
    std::uint32_t before = 0;
    for (std::uint32_t& count : from) before += std::exchange(count, before);
    const auto move = [&](std::size_t i) { sorted[from[digit(i)]++] = order[i]; };
    if (!in_stretches(order.size(), stopped, move)) return false;
    order.swap(sorted);
  }
  return true;
}

namespace {

/// How many of the ranks before each are in the life of some piece.
std::vector<std::uint32_t> lived_before(const Instance& instance) {
  std::vector<std::int32_t> change(instance.ranks + 1, 0);
  for (const Piece& piece : instance.pieces) {
    ++change[piece.life.begin];
    --change[piece.life.end];
    if (piece.life.wrapped_end != 0) {
      ++change[0];
      --change[piece.life.wrapped_end];
    }
  }
  std::vector<std::uint32_t> lived(instance.ranks + 1, 0);
  std::int32_t alive = 0;
  for (std::uint32_t rank = 0; rank < instance.ranks; ++rank)
    lived[rank + 1] = lived[rank] + ((alive += change[rank]) > 0 ? 1 : 0);
  return lived;
}

/// Those that stand in the way of some piece. Not to be used if the meter is out after it.
OffsetIndex index_with_obstacles(const Instance& instance, WorkMeter& meter) {
  OffsetIndex index(instance.ranks);
  if (instance.obstacles.empty()) return index;
  const std::vector<std::uint32_t> lived = lived_before(instance);
  for (const Obstacle& obstacle : instance.obstacles) {
    const Life& life = obstacle.life;
    const bool met = lived[life.end] != lived[life.begin] || lived[life.wrapped_end] != 0;
    if (!meter.spend(met ? 8 : 1)) break;
    if (met) index.insert(life, obstacle.offset, obstacle.size);
  }
  return index;
}

void begin_draft(const Instance& instance, Draft& draft) {
  draft.offsets.assign(instance.pieces.size(), 0);
  draft.height = instance.obstacle_height();
}

void settle(const Instance& instance, std::uint32_t piece, std::uint64_t offset, Draft& draft) {
  draft.offsets[piece] = offset;
  draft.height = std::max(draft.height, offset + instance.pieces[piece].size);
}

bool wraps(const Piece& piece) { return piece.life.wrapped_end != 0; }

/// Among obstacles: positions only rise as pieces are placed, so a heap entry that is out of date is
/// refreshed when it comes up.
bool fill_gaps(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter,
               Draft& draft) {
  using Waiting =
      std::pair<std::uint64_t, std::uint32_t>;  // lowest offset when last looked at, position in order
  std::vector<Waiting> heap;
  for (std::uint32_t position = 0; position < order.size(); ++position) heap.emplace_back(0, position);
  OffsetIndex index = index_with_obstacles(instance, meter);
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

/// The lowest offset, or the one in the tightest hole, at which the piece fits among what lies there.
std::uint64_t fit_in(const Instance& instance, const OffsetIndex& index, const Piece& piece, Fit fit,
                     std::uint64_t& work) {
  if (!piece.solid()) return index.first_fit(instance.parts_of(piece), piece.alignment, work);
  return fit == Fit::kFirst ? index.first_fit(piece, work) : index.best_fit(piece, work);
}

}  // namespace

std::vector<std::uint32_t> sorted_order(const Instance& instance, Key key) {
  const Limits limits;
  const Race race{~std::uint32_t{0}};
  WorkMeter unlimited(limits, ~std::uint64_t{0}, race, 0);
  return sorted_order(instance, key, unlimited);
}

std::vector<std::uint32_t> sorted_order(const Instance& instance, Key key, WorkMeter& meter) {
  std::vector<std::uint32_t> order(instance.pieces.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto stopped = [&meter] { return !meter.look_now(); };
  std::vector<std::uint64_t> keys;
  if (!zeroed_in_stretches(keys, order.size(), stopped)) return order;
  const auto sort_by = [&](const auto& key_of) {
    const auto take_key = [&](std::size_t i) { keys[i] = key_of(instance.pieces[i]); };
    if (in_stretches(keys.size(), stopped, take_key)) sort_by_keys(order, keys, meter);
  };
  sort_by([](const Piece& piece) { return piece.birth; });
  if (!meter.out()) sort_by([](const Piece& piece) { return ~piece.duration; });
  if (!meter.out()) sort_by([](const Piece& piece) { return ~piece.size; });
  if (meter.out()) return order;
  sort_by([key](const Piece& piece) { return ordered_bits(leading_key(piece, key)); });
  return order;
}

bool place_in_order(const Instance& instance, std::span<const std::uint32_t> order, Fit fit, WorkMeter& meter,
                    Draft& draft) {
  if (meter.out()) return ran_out(draft);  // before memory is touched
  OffsetIndex index = index_with_obstacles(instance, meter);
  begin_draft(instance, draft);
  for (std::uint32_t piece : order) {
    const Piece& p = instance.pieces[piece];
    std::uint64_t work = 1;
    const std::uint64_t offset = fit_in(instance, index, p, fit, work);
    if (!meter.spend(work)) return ran_out(draft);
    index.insert(instance, p, offset);
    settle(instance, piece, offset, draft);
  }
  return true;
}

/// Fills each plateau with the first waiting piece that lies within it; one that none fits is given up to the
/// height of its lower neighbour.
bool place_on_skyline(const Instance& instance, std::span<const std::uint32_t> order, Skyline& skyline,
                      WorkMeter& meter, Draft& draft) {
  Containment waiting(instance, order, meter);
  if (meter.out()) return false;
  for (std::size_t left = order.size(); left > 0;) {
    const Plateau plateau = skyline.lowest();
    std::uint64_t work = 16;
    const std::uint32_t position = waiting.first_within(plateau.span, work);
    if (!meter.spend(work)) return false;
    if (position == Containment::kNone) {
      skyline.raise(plateau.span, plateau.next);
      continue;
    }
    const Piece& piece = instance.pieces[order[position]];
    const std::uint64_t offset = align_up(plateau.height, piece.alignment);
    waiting.remove(position);
    skyline.raise(piece.life, offset + piece.size);
    settle(instance, order[position], offset, draft);
    --left;
  }
  return true;
}

bool place_lowest_first(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter,
                        Draft& draft) {
  if (meter.out()) return ran_out(draft);
  begin_draft(instance, draft);
  bool done = false;
  if (instance.flat()) {
    Skyline skyline(instance.ranks, instance.floor,
                    std::any_of(instance.pieces.begin(), instance.pieces.end(), wraps));
    done = place_on_skyline(instance, order, skyline, meter, draft);
  } else {
    done = fill_gaps(instance, order, meter, draft);
  }
  return done || ran_out(draft);
}

}  // namespace stowage::planner::placement
