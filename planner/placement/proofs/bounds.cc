#include "planner/placement/proofs/bounds.h"

#include <algorithm>
#include <bitset>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "planner/placement/instance/offset_index.h"
#include "planner/placement/instance/subset.h"
#include "planner/placement/problem/long_sort.h"
#include "planner/placement/proofs/crowds.h"
#include "planner/placement/proofs/fragments.h"
#include "planner/placement/search/search.h"

namespace stowage::planner::placement {
namespace {

/// Steps that the bounds which are not near-linear may take; beyond, they are left out.
constexpr std::uint64_t kMostSteps = 16'000'000;
/// Changes between two looks at the stop.
constexpr std::size_t kLookEvery = 1u << 15;

/// A piece that begins or ends to be alive at a rank; ends come first.
struct Change {
  std::uint32_t rank;
  bool begins;
  std::uint32_t piece;
  friend auto operator<=>(const Change&, const Change&) = default;
};

template <class T>
void add_changes(const std::vector<T>& things, std::uint32_t first, std::vector<Change>& changes) {
  for (std::uint32_t i = 0; i < things.size(); ++i) {
    const Life& life = things[i].life;
    changes.insert(changes.end(), {{life.begin, true, first + i}, {life.end, false, first + i}});
    if (life.wrapped_end != 0)
      changes.insert(changes.end(), {{0, true, first + i}, {life.wrapped_end, false, first + i}});
  }
}

/// In order of time; none after a stop.
std::vector<Change> changes_of(const Instance& instance, bool with_obstacles, const Limits& limits) {
  std::vector<Change> changes;
  add_changes(instance.pieces, 0, changes);
  if (with_obstacles)
    add_changes(instance.obstacles, static_cast<std::uint32_t>(instance.pieces.size()), changes);
  if (!sort_unless(changes, std::less<>(), [&] { return limits.stopped(); })) changes.clear();
  return changes;
}

/// Every piece but the highest of a clique ends where the next may begin: its size rounded up to what divides
/// all alignments.
std::uint64_t aligned_bound(const Instance& instance, const Limits& limits) {
  std::uint64_t grain = 0;
  for (const Piece& piece : instance.pieces) grain = std::gcd(grain, piece.alignment);
  if (grain <= 1 || !instance.obstacles.empty() || limits.stopped()) return 0;
  if (std::all_of(instance.pieces.begin(), instance.pieces.end(),
                  [grain](const Piece& piece) { return piece.size % grain == 0; }))
    return 0;  // no more than the live bytes
  std::size_t seen = 0;
  std::uint64_t rounded = 0, bound = 0;
  std::multiset<std::uint64_t> waste;
  for (const Change& change : changes_of(instance, false, limits)) {
    if (++seen % kLookEvery == 0 && limits.stopped()) return bound;
    const std::uint64_t size = instance.pieces[change.piece].size;
    const std::uint64_t full = align_up(size, grain);
    if (change.begins) {
      rounded += full;
      waste.insert(full - size);
      bound = std::max(bound, rounded - *waste.rbegin());
    } else {
      rounded -= full;
      waste.erase(waste.find(full - size));
    }
  }
  return bound;
}

/// The most of `sizes` (in units) that `room` can hold, were it not for what lies elsewhere.
std::uint64_t usable(const std::vector<std::uint64_t>& sizes, std::uint64_t room, std::uint64_t& steps) {
  constexpr std::size_t kMostRoom = 4096;
  steps += sizes.size();
  std::uint64_t sum = 0;
  for (std::uint64_t size : sizes) sum += size <= room ? size : 0;
  if (room >= kMostRoom || sum <= room) return std::min(sum, room);
  std::bitset<kMostRoom> reached(1);  // sums of some of them
  steps += sizes.size() * (kMostRoom / 64);
  for (std::uint64_t size : sizes) {
    if (size <= room) reached |= reached << size;
  }
  while (!reached[room]) --room;
  return room;
}

/// What is alive in one clique.
struct Crowd {
  std::vector<std::uint64_t> sizes;        ///< of the pieces, in units
  std::vector<const Obstacle*> obstacles;  ///< by offset
};

/// What does not fit between the obstacles lies above the highest of them.
std::uint64_t packed_height(const Crowd& crowd, std::uint64_t unit, std::uint64_t bound,
                            std::uint64_t& steps) {
  const std::uint64_t total = std::accumulate(crowd.sizes.begin(), crowd.sizes.end(), std::uint64_t{0});
  std::uint64_t held = 0, fits = 0;
  for (const Obstacle* obstacle : crowd.obstacles)
    held = std::max(held, (obstacle->offset + obstacle->size) / unit);
  if ((held + total) * unit <= bound) return bound;  // even if nothing fits between
  held = 0;
  for (const Obstacle* obstacle : crowd.obstacles) {
    const std::uint64_t low = obstacle->offset / unit;
    if (low > held) fits += usable(crowd.sizes, low - held, steps);
    held = std::max(held, (obstacle->offset + obstacle->size) / unit);
  }
  return (held + (total > fits ? total - fits : 0)) * unit;
}

std::uint64_t packing_bound(const Instance& instance, const Limits& limits) {
  if (instance.obstacles.empty() || instance.flat()) return 0;
  const std::uint64_t unit = unit_of(instance);
  const auto pieces = static_cast<std::uint32_t>(instance.pieces.size());
  std::set<std::uint32_t> alive;
  std::uint64_t bound = instance.bound, steps = 0, looked = 0;
  bool grew = false;
  Crowd crowd;
  for (const Change& change : changes_of(instance, true, limits)) {
    if (!change.begins && grew) {  // a maximal clique
      crowd.sizes.clear();
      crowd.obstacles.clear();
      for (std::uint32_t i : alive) {
        if (i < pieces) crowd.sizes.push_back(instance.pieces[i].size / unit);
        if (i >= pieces) crowd.obstacles.push_back(&instance.obstacles[i - pieces]);
      }
      steps += alive.size() + 64;
      bound = std::max(bound, packed_height(crowd, unit, bound, steps));
      if (steps > kMostSteps) return bound;
      if (steps > looked + kMostSteps / 8 && limits.stopped()) return bound;
      if (steps > looked + kMostSteps / 8) looked = steps;
    }
    grew = change.begins;
    if (change.begins)
      alive.insert(change.piece);
    else
      alive.erase(change.piece);
  }
  return bound;
}

/// Which heights up to `most` units some of the sizes add up to; empty if that says nothing. Where nothing is
/// aligned or fixed, some placement of least height has every piece on the floor or on another one.
std::vector<char> reachable(const Instance& instance, std::uint64_t unit, std::uint64_t most) {
  const auto aligned = [](const Piece& piece) { return piece.alignment > 1; };
  if (!instance.obstacles.empty() || std::any_of(instance.pieces.begin(), instance.pieces.end(), aligned))
    return {};
  if (most > kMostSteps / instance.pieces.size()) return {};
  std::vector<char> reached(most + 1, 0);
  reached[0] = 1;
  for (const Piece& piece : instance.pieces) {
    const std::uint64_t size = piece.size / unit;
    for (std::uint64_t at = most + 1; at-- > size;)
      reached[at] = static_cast<char>(reached[at] | reached[at - size]);
  }
  return reached;
}

/// Ranks that begin a maximal clique, and the bytes alive there.
struct Clique {
  std::uint32_t rank;
  std::uint64_t live;
};

std::vector<Clique> cliques_of(const Instance& instance, const Limits& limits) {
  std::vector<Clique> cliques;
  std::uint64_t live = 0;
  bool grew = false;
  std::uint32_t last = 0;
  for (const Change& change : changes_of(instance, false, limits)) {
    if (!change.begins && grew) cliques.push_back({last, live});
    grew = change.begins;
    last = change.rank;
    live += change.begins ? instance.pieces[change.piece].size : 0;
    live -= change.begins ? 0 : instance.pieces[change.piece].size;
  }
  return cliques;
}

/// Looks for capacities at which the pieces of a window have no placement.
class Prover {
 public:
  Prover(const Instance& instance, std::uint64_t bound, std::uint64_t height, const Limits& limits,
         WorkMeter& meter)
      : instance_(instance),
        unit_(unit_of(instance)),
        bound_(bound),
        height_(height),
        limits_(limits),
        meter_(meter),
        reached_(reachable(instance, unit_, height / unit_)) {}

  std::uint64_t run() {
    const std::vector<Clique> cliques = cliques_of(instance_, limits_);
    if (cliques.empty()) return bound_;
    std::vector<std::size_t> by_live(cliques.size());
    std::iota(by_live.begin(), by_live.end(), 0u);
    std::stable_sort(by_live.begin(), by_live.end(),
                     [&](std::size_t a, std::size_t b) { return cliques[a].live > cliques[b].live; });
    by_live.resize(std::min<std::size_t>(by_live.size(), kPeaks));
    for (std::size_t reach = 1; reach < 2 * cliques.size() && !done(); reach *= 2) {
      for (std::size_t centre : by_live) {
        if (done()) break;
        const std::size_t first = centre - std::min(centre, reach);
        const std::size_t last = std::min(centre + reach, cliques.size() - 1);
        window({cliques[first].rank, cliques[last].rank + 1, 0});
      }
    }
    return bound_;
  }

 private:
  static constexpr std::size_t kPeaks = 8;             ///< windows of one reach
  static constexpr std::uint64_t kShare = 20'000'000;  ///< work units of one proof

  [[nodiscard]] bool done() const { return bound_ >= height_ || meter_.out(); }

  void window(const Life& span) {
    std::vector<std::uint32_t> pieces;
    for (std::uint32_t i = 0; i < instance_.pieces.size(); ++i) {
      if (meet(instance_.pieces[i].life, span)) pieces.push_back(i);
    }
    const Instance part = only(instance_, pieces);
    std::uint64_t step = unit_;
    while (!done() && impossible(part, bound_)) {
      raise_to(bound_ + unit_);
      while (bound_ + step < height_ && !meter_.out() && impossible(part, bound_ + step - unit_)) {
        raise_to(bound_ + step);
        step *= 2;
      }
      step = std::max(unit_, step / 4 / unit_ * unit_);
    }
  }

  /// The bound, and on to the next height that is in reach.
  void raise_to(std::uint64_t bound) {
    bound_ = std::min(bound, height_);
    while (bound_ < height_ && bound_ % unit_ == 0 && !reached_.empty() && reached_[bound_ / unit_] == 0)
      bound_ += unit_;
  }

  bool impossible(const Instance& part, std::uint64_t capacity) {
    if (!meter_.spend(part.pieces.size())) return false;
    if (part.bound > capacity) return true;
    if (!search::supports(part, capacity)) return false;
    const Race alone{std::numeric_limits<std::uint32_t>::max()};
    WorkMeter own(limits_, kShare, alone, 0);
    Draft draft;
    const auto outcome = search::search(part, capacity, {}, own, draft);
    meter_.add(own);
    return outcome == search::Outcome::kInfeasible;
  }

  const Instance& instance_;
  std::uint64_t unit_;
  std::uint64_t bound_;
  std::uint64_t height_;
  const Limits& limits_;
  WorkMeter& meter_;
  std::vector<char> reached_;  ///< by height in units; empty if nothing is known
};

}  // namespace

std::uint64_t clique_bound(const Instance& instance, const Limits& limits) {
  const std::uint64_t bound =
      std::max({instance.bound, fragment_bound(instance), crowd_bound(instance, limits)});
  if (!instance.parts.empty()) return bound;  // what follows takes pieces for solid
  return std::max({bound, aligned_bound(instance, limits), packing_bound(instance, limits)});
}

std::uint64_t prove_bound(const Instance& instance, std::uint64_t bound, std::uint64_t height,
                          const Limits& limits, WorkMeter& meter) {
  if (bound >= height || instance.pieces.empty() || !instance.parts.empty()) return bound;
  return Prover(instance, bound, height, limits, meter).run();
}

}  // namespace stowage::planner::placement
