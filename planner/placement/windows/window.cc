#include "planner/placement/windows/window.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "core/support/mix.h"
#include "planner/placement/instance/subset.h"
#include "planner/placement/search/search.h"
#include "planner/placement/windows/location_ilp.h"

namespace stowage::planner::placement {
namespace {

/// Work units of one window's search, and what a step of lp_solve counts as.
constexpr std::uint64_t kSearchShare = 400'000;
constexpr std::uint64_t kIlpStep = 4'000;

/// What the addresses [0, ceiling) that no obstacle holds leave to `piece`, ascending.
std::vector<AddressRange> free_for(const Instance& part, const Piece& piece, std::uint64_t ceiling) {
  std::vector<AddressRange> ranges;
  std::uint64_t low = 0;
  const auto add = [&](std::uint64_t high) {
    if (high >= low && high - low >= piece.size) ranges.push_back({low, high});
  };
  for (const Obstacle& obstacle : part.obstacles) {
    if (!meet(obstacle.life, piece.life)) continue;
    add(obstacle.offset);
    low = std::max(low, obstacle.offset + obstacle.size);
  }
  add(ceiling);
  return ranges;
}

/// The pieces keep clear of each other and of what is held, below the ceiling. Cheap, and what does not hold
/// is never taken over.
bool is_sound(const Instance& part, const Draft& found, std::uint64_t ceiling) {
  const auto crosses = [&](std::size_t i, const Life& life, std::uint64_t offset, std::uint64_t size) {
    return meet(part.pieces[i].life, life) && found.offsets[i] < offset + size &&
           offset < found.offsets[i] + part.pieces[i].size;
  };
  for (std::size_t i = 0; i < part.pieces.size(); ++i) {
    const Piece& piece = part.pieces[i];
    if (found.offsets[i] % piece.alignment != 0 || found.offsets[i] + piece.size > ceiling) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (crosses(i, part.pieces[j].life, found.offsets[j], part.pieces[j].size)) return false;
    }
    for (const Obstacle& held : part.obstacles) {
      if (crosses(i, held.life, held.offset, held.size)) return false;
    }
  }
  return true;
}

class Windows {
 public:
  Windows(const Instance& instance, const WindowOptions& options, const Limits& limits, WorkMeter& meter,
          Draft& draft)
      : instance_(instance),
        options_(options),
        limits_(limits),
        meter_(meter),
        draft_(draft),
        unit_(unit_of(instance)),
        random_(options.seed) {}

  bool run(std::uint64_t target) {
    std::uint32_t idle = 0;
    while (draft_.height > target && idle < options_.patience) {
      const std::uint32_t peak = highest();
      const std::uint64_t top = top_of(peak);
      if (top <= instance_.bound || top < unit_ + instance_.pieces[peak].size) break;
      if (!meter_.spend(4 * instance_.pieces.size())) break;
      idle = lower(choose(peak), top - unit_) ? 0 : idle + 1;
    }
    return draft_.height <= target;
  }

 private:
  [[nodiscard]] std::uint64_t top_of(std::uint32_t piece) const {
    return draft_.offsets[piece] + instance_.pieces[piece].size;
  }

  /// The piece that ends highest; it makes the height unless an obstacle does.
  [[nodiscard]] std::uint32_t highest() const {
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < instance_.pieces.size(); ++i) {
      if (top_of(i) > top_of(best)) best = i;
    }
    return best;
  }

  /// The peak and others that meet it, or that meet one of these; those near in address more often.
  std::vector<std::uint32_t> choose(std::uint32_t peak) {
    std::vector<std::uint32_t> chosen{peak};
    const std::size_t near = random_.next() % 2 == 0 ? options_.pieces : options_.pieces / 2;
    add_neighbours(peak, near, chosen);
    const std::uint32_t second = chosen[random_.next() % chosen.size()];
    add_neighbours(second, options_.pieces, chosen);
    return chosen;
  }

  void add_neighbours(std::uint32_t piece, std::size_t until, std::vector<std::uint32_t>& chosen) {
    std::vector<std::pair<double, std::uint32_t>> keyed;
    const Life& life = instance_.pieces[piece].life;
    for (std::uint32_t i = 0; i < instance_.pieces.size(); ++i) {
      if (!meet(instance_.pieces[i].life, life)) continue;
      if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
      const double distance =
          std::max(static_cast<double>(top_of(piece)) - static_cast<double>(top_of(i)), 1.0);
      const auto noise = static_cast<double>(1 + random_.next() % 1024);
      keyed.emplace_back(distance * noise, i);
    }
    const std::size_t wanted = std::min(keyed.size(), until > chosen.size() ? until - chosen.size() : 0);
    std::partial_sort(keyed.begin(), keyed.begin() + static_cast<std::ptrdiff_t>(wanted), keyed.end());
    for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(keyed[i].second);
  }

  /// Puts the chosen pieces back so that none ends above `ceiling`. False if that was not found.
  bool lower(const std::vector<std::uint32_t>& chosen, std::uint64_t ceiling) {
    const Instance part = around(instance_, chosen, draft_.offsets, ceiling);
    meter_.spend(instance_.pieces.size() * chosen.size());
    Draft found;
    if (!(options_.ilp ? by_ilp(part, ceiling, found) : by_search(part, ceiling, found))) return false;
    if (!is_sound(part, found, ceiling)) return false;
    for (std::size_t i = 0; i < chosen.size(); ++i) draft_.offsets[chosen[i]] = found.offsets[i];
    draft_.height = std::max(instance_.obstacle_height(), top_of(highest()));
    return true;
  }

  bool by_search(const Instance& part, std::uint64_t ceiling, Draft& found) {
    if (part.bound > ceiling || !search::supports(part, ceiling)) return false;
    const Race alone{std::numeric_limits<std::uint32_t>::max()};
    WorkMeter own(limits_, kSearchShare, alone, 0);
    const auto outcome = search::search(part, ceiling, {}, own, found);
    meter_.add(own);
    return outcome == search::Outcome::kFound;
  }

  bool by_ilp(const Instance& part, std::uint64_t ceiling, Draft& found) {
    IlpProblem program;
    program.capacity = program.floor = ceiling;  // any placement below the ceiling will do
    for (std::uint32_t i = 0; i < part.pieces.size(); ++i) {
      const Piece& piece = part.pieces[i];
      program.buffers.push_back({piece.size, piece.alignment, free_for(part, piece, ceiling)});
      if (program.buffers.back().allowed.empty()) return false;
      for (std::uint32_t j = 0; j < i; ++j) {
        if (meet(piece.life, part.pieces[j].life)) program.meets.emplace_back(i, j);
      }
    }
    const IlpAnswer answer = solve_location_ilp(program, limits_, kSearchShare / kIlpStep * 10);
    meter_.spend(answer.steps * kIlpStep);
    found.offsets = answer.offsets;
    return answer.kind == IlpAnswer::Kind::kOptimal;
  }

  const Instance& instance_;
  const WindowOptions& options_;
  const Limits& limits_;
  WorkMeter& meter_;
  Draft& draft_;
  std::uint64_t unit_;
  SplitMix random_;
};

}  // namespace

bool improve_by_windows(const Instance& instance, std::uint64_t target, const WindowOptions& options,
                        const Limits& limits, WorkMeter& meter, Draft& draft) {
  if (draft.height <= target) return true;
  if (instance.pieces.empty()) return false;
  return Windows(instance, options, limits, meter, draft).run(target);
}

}  // namespace stowage::planner::placement
