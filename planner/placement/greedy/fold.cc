#include "planner/placement/greedy/fold.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace stowage::planner::placement {
namespace {

/// A stretch is to have at most this many pieces: small enough for its index to stay in a processor's cache.
constexpr std::uint32_t kStretch = 8192;

using Plateaus = std::vector<std::pair<std::uint32_t, std::uint64_t>>;  // begin → height

/// How many pieces are alive both before and after the beginning of each rank.
std::vector<std::uint32_t> count_crossing(const Instance& instance) {
  std::vector<std::int32_t> change(instance.ranks + 1, 0);
  for (const Piece& piece : instance.pieces) {
    const Life& life = piece.life;
    if (life.begin + 1 < life.end) {
      ++change[life.begin + 1];
      --change[life.end];
    }
    if (life.wrapped_end > 1) {
      ++change[1];
      --change[life.wrapped_end];
    }
  }
  std::vector<std::uint32_t> crossing(instance.ranks, 0);
  std::int32_t alive = 0;
  for (std::uint32_t rank = 0; rank < instance.ranks; ++rank)
    crossing[rank] = static_cast<std::uint32_t>(alive += change[rank]);
  return crossing;
}

/// Where time is cut, and what crosses.
struct Cuts {
  std::vector<std::uint32_t> begins;                  ///< of the stretches, ascending; the first is 0
  std::vector<std::uint32_t> crossing;                ///< pieces, ascending
  std::vector<std::vector<std::uint32_t>> stretches;  ///< pieces, ascending in birth
};

/// Cuts where at most `most` pieces cross. Not to be used if the meter is out after it.
Cuts cut(const Instance& instance, const std::vector<std::uint32_t>& crossing, std::uint32_t most,
         WorkMeter& meter) {
  Cuts cuts;
  std::vector<std::uint32_t> stretch_of(instance.ranks, 0);
  for (std::uint32_t rank = 0; rank < instance.ranks; ++rank) {
    if (rank == 0 || crossing[rank] <= most) cuts.begins.push_back(rank);
    stretch_of[rank] = static_cast<std::uint32_t>(cuts.begins.size() - 1);
  }
  cuts.stretches.resize(cuts.begins.size());
  for (std::uint32_t i = 0; i < instance.pieces.size(); ++i) {
    if (i % kStretch == 0 && !meter.spend(2 * std::uint64_t{kStretch})) break;
    const Life& life = instance.pieces[i].life;
    if (life.wrapped_end != 0 || stretch_of[life.begin] != stretch_of[life.end - 1]) {
      cuts.crossing.push_back(i);
    } else {
      cuts.stretches[stretch_of[life.begin]].push_back(i);
    }
  }
  return cuts;
}

bool small(const Cuts& cuts) {
  return std::all_of(cuts.stretches.begin(), cuts.stretches.end(),
                     [](const auto& stretch) { return stretch.size() <= kStretch; });
}

/// The fewest cuts that make all stretches small, if an eighth of the pieces or fewer cross them.
std::optional<Cuts> choose_cuts(const Instance& instance, WorkMeter& meter) {
  const std::vector<std::uint32_t> crossing = count_crossing(instance);
  std::uint32_t low = *std::min_element(crossing.begin() + (crossing.size() > 1 ? 1 : 0), crossing.end());
  std::uint32_t high = *std::max_element(crossing.begin(), crossing.end());
  std::optional<Cuts> best;
  while (low <= high) {
    const std::uint32_t middle = low + (high - low) / 8;  // good cuts are low ones
    Cuts cuts = cut(instance, crossing, middle, meter);
    if (meter.out()) return std::nullopt;
    if (cuts.crossing.size() > instance.pieces.size() / 8) {
      if (middle == low) break;
      high = middle - 1;
    } else if (small(cuts)) {
      best = std::move(cuts);
      if (middle == low) break;
      high = middle - 1;
    } else {
      low = middle + 1;
    }
  }
  return best;
}

/// Some of an instance's pieces, `shift` ranks earlier, as an instance of their own.
Instance part_of(const Instance& whole, const std::vector<std::uint32_t>& pieces, std::uint32_t shift,
                 std::uint32_t ranks) {
  Instance part;
  part.ranks = ranks;
  part.floor = whole.floor;
  part.pieces.reserve(pieces.size());
  for (std::uint32_t i : pieces) {
    part.pieces.push_back(whole.pieces[i]);
    Piece& piece = part.pieces.back();
    piece.part_count = 0;
    piece.life.begin -= shift;
    piece.life.end -= shift;
  }
  return part;
}

/// How high what crosses reaches, over all of time.
std::vector<std::uint64_t> heights_over_time(const Instance& instance,
                                             const std::vector<std::uint32_t>& pieces, const Draft& draft,
                                             WorkMeter& meter) {
  std::vector<std::uint32_t> by_top(pieces.size());
  std::iota(by_top.begin(), by_top.end(), 0u);
  const auto top = [&](std::uint32_t i) { return draft.offsets[i] + instance.pieces[pieces[i]].size; };
  std::vector<std::uint64_t> keys(pieces.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = ~top(i);
  sort_by_keys(by_top, keys, meter);
  std::vector<std::uint64_t> heights(instance.ranks, instance.floor);
  std::vector<std::uint32_t> next(instance.ranks + 1);  // the first rank from here on that nobody painted
  std::iota(next.begin(), next.end(), 0u);
  const auto unpainted = [&next](std::uint32_t rank) {
    while (next[rank] != rank) rank = next[rank] = next[next[rank]];
    return rank;
  };
  for (std::uint32_t i : by_top) {
    const Life& life = instance.pieces[pieces[i]].life;
    for (const auto& [begin, end] : {std::pair{life.begin, life.end}, {0u, life.wrapped_end}}) {
      for (std::uint32_t rank = unpainted(begin); rank < end; rank = unpainted(rank)) {
        heights[rank] = top(i);
        next[rank] = rank + 1;
      }
    }
  }
  return heights;
}

/// One stretch, as what its answer depends on.
struct Stretch {
  Instance instance;
  Plateaus plateaus;
  Draft draft;

  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t value = instance.ranks;
    const auto mix = [&value](std::uint64_t more) {
      value = (value ^ more) * 0x9e3779b97f4a7c15u;
      value ^= value >> 29;
    };
    for (const Piece& piece : instance.pieces) {
      mix((std::uint64_t{piece.life.begin} << 32) | piece.life.end);
      mix(piece.size);
    }
    for (const auto& [begin, height] : plateaus) {
      mix(begin);
      mix(height);
    }
    return value;
  }
  [[nodiscard]] bool like(const Stretch& other) const {
    const auto same = [](const Piece& a, const Piece& b) {
      return a.life.begin == b.life.begin && a.life.end == b.life.end && a.size == b.size &&
             a.alignment == b.alignment && a.duration == b.duration;
    };
    return instance.ranks == other.instance.ranks && plateaus == other.plateaus &&
           std::equal(instance.pieces.begin(), instance.pieces.end(), other.instance.pieces.begin(),
                      other.instance.pieces.end(), same);
  }
};

Plateaus plateaus_of(const std::vector<std::uint64_t>& heights, std::uint32_t begin, std::uint32_t end) {
  Plateaus plateaus;
  for (std::uint32_t rank = begin; rank < end; ++rank) {
    if (plateaus.empty() || plateaus.back().second != heights[rank])
      plateaus.emplace_back(rank - begin, heights[rank]);
  }
  return plateaus;
}

bool place_stretch(Stretch& stretch, Key key, WorkMeter& meter) {
  Skyline skyline(stretch.instance.ranks, stretch.plateaus);
  stretch.draft.offsets.assign(stretch.instance.pieces.size(), 0);
  return place_on_skyline(stretch.instance, sorted_order(stretch.instance, key, meter), skyline, meter,
                          stretch.draft);
}

}  // namespace

bool place_folded(const Instance& instance, Key key, WorkMeter& meter, Draft& draft,
                  FoldStatistics* statistics) {
  draft = {};
  const std::optional<Cuts> cuts = choose_cuts(instance, meter);
  if (!cuts) return false;
  Draft bottom;
  const Instance crossing = part_of(instance, cuts->crossing, 0, instance.ranks);
  if (!place_lowest_first(crossing, sorted_order(crossing, key, meter), meter, bottom)) return false;
  const std::vector<std::uint64_t> heights = heights_over_time(instance, cuts->crossing, bottom, meter);
  if (meter.out()) return false;
  std::vector<std::uint64_t> offsets(instance.pieces.size(), 0);
  std::uint64_t height = std::max(instance.floor, bottom.height);
  for (std::size_t i = 0; i < cuts->crossing.size(); ++i) offsets[cuts->crossing[i]] = bottom.offsets[i];
  std::unordered_map<std::uint64_t, std::vector<Stretch>> placed;
  std::size_t distinct = 0;
  for (std::size_t s = 0; s < cuts->stretches.size(); ++s) {
    const std::vector<std::uint32_t>& pieces = cuts->stretches[s];
    if (pieces.empty()) continue;
    const std::uint32_t begin = cuts->begins[s];
    const std::uint32_t end = s + 1 < cuts->begins.size() ? cuts->begins[s + 1] : instance.ranks;
    Stretch stretch{part_of(instance, pieces, begin, end - begin), plateaus_of(heights, begin, end), {}};
    if (!meter.spend(2 * pieces.size())) return false;
    std::vector<Stretch>& alike = placed[stretch.hash()];
    auto twin = std::find_if(alike.begin(), alike.end(), [&](const Stretch& s2) { return s2.like(stretch); });
    if (twin == alike.end()) {
      if (!place_stretch(stretch, key, meter)) return false;
      height = std::max(height, stretch.draft.height);
      alike.push_back(std::move(stretch));
      twin = std::prev(alike.end());
      ++distinct;
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) offsets[pieces[i]] = twin->draft.offsets[i];
  }
  draft = {std::move(offsets), height};
  if (statistics != nullptr) *statistics = {cuts->stretches.size(), distinct, cuts->crossing.size()};
  return true;
}

}  // namespace stowage::planner::placement
