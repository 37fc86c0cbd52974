#include "planner/placement/proofs/crowds.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/placement/proofs/fragments.h"
#include "planner/placement/proofs/meetings.h"

namespace stowage::planner::placement {
namespace {

/// Steps that the whole of it may take.
constexpr std::uint64_t kMostSteps = 16'000'000;

class Crowds {
 public:
  Crowds(const Instance& instance, const Meetings& meetings, WorkMeter& meter)
      : instance_(instance),
        meetings_(meetings),
        meter_(meter),
        times_(instance.pieces.size(), 0),
        met_(instance.pieces.size(), 0) {}

  /// The most bytes of pieces of which any two meet.
  std::uint64_t run() {
    bool grew = false;
    for (const Change& change : changes()) {
      if (!change.begins && std::exchange(grew, false)) extend();
      if (change.begins) grew = true;
      enter_or_leave(change);
      if (meter_.out()) break;
    }
    return best_;
  }

 private:
  struct Change {
    std::uint32_t rank;
    bool begins;  // ends come first
    std::uint32_t piece;
    friend auto operator<=>(const Change&, const Change&) = default;
  };

  [[nodiscard]] std::vector<Change> changes() const {
    std::vector<Change> changes;
    const auto add = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t piece) {
      changes.insert(changes.end(), {{begin, true, piece}, {end, false, piece}});
    };
    for (std::uint32_t p = 0; p < instance_.pieces.size(); ++p) {
      const Piece& piece = instance_.pieces[p];
      if (piece.solid()) add(piece.life.begin, piece.life.end, p);
      if (piece.solid() && piece.life.wrapped_end != 0) add(0, piece.life.wrapped_end, p);
      for (const Part& part : instance_.parts_of(piece)) add(part.begin, part.end, p);
    }
    std::sort(changes.begin(), changes.end());
    return changes;
  }

  /// A piece whose parts touch ends and begins at one rank.
  void enter_or_leave(const Change& change) {
    const std::uint32_t p = change.piece;
    times_[p] += change.begins ? 1 : -1;
    if (change.begins ? times_[p] != 1 : times_[p] != 0) return;
    const std::int32_t step = change.begins ? 1 : -1;
    alive_ += step;
    live_ = change.begins ? live_ + instance_.pieces[p].size : live_ - instance_.pieces[p].size;
    for (const std::uint32_t other : meetings_.of(p)) {
      if (other < met_.size()) met_[other] += step;
    }
    meter_.spend(meetings_.of(p).size() + 4);
  }

  /// Adds to what is alive, the largest first, what meets all of it and each other.
  void extend() {
    std::vector<std::uint32_t> more;
    std::uint64_t bytes = live_;
    for (std::uint32_t p = 0; p < met_.size(); ++p) {
      if (times_[p] != 0 || met_[p] != alive_) continue;
      more.push_back(p);
      bytes += instance_.pieces[p].size;
    }
    meter_.spend(met_.size() / 4 + more.size() * 4);
    if (bytes <= best_) return;
    std::stable_sort(more.begin(), more.end(), [this](std::uint32_t a, std::uint32_t b) {
      return instance_.pieces[a].size > instance_.pieces[b].size;
    });
    best_ = std::max(best_, live_ + bytes_that_meet(more));
  }

  std::uint64_t bytes_that_meet(const std::vector<std::uint32_t>& pieces) {
    std::vector<std::uint32_t> chosen;
    std::uint64_t bytes = 0;
    for (const std::uint32_t p : pieces) {
      const auto met = meetings_.of(p);
      meter_.spend(8 * chosen.size() + 1);
      const bool all = std::all_of(chosen.begin(), chosen.end(), [&](std::uint32_t other) {
        return std::binary_search(met.begin(), met.end(), other);
      });
      if (!all) continue;
      chosen.push_back(p);
      bytes += instance_.pieces[p].size;
    }
    return bytes;
  }

  const Instance& instance_;
  const Meetings& meetings_;
  WorkMeter& meter_;
  std::vector<std::int32_t> times_;  ///< by piece: how many of its parts are alive
  std::vector<std::int32_t> met_;    ///< by piece: how many of those alive it meets at any time
  std::int32_t alive_ = 0;
  std::uint64_t live_ = 0;  ///< their bytes
  std::uint64_t best_ = 0;
};

}  // namespace

std::uint64_t crowd_bound(const Instance& instance, const Limits& limits) {
  if (instance.parts.empty()) return 0;
  for (const Piece& piece : instance.pieces) {
    for (const Part& part : instance.parts_of(piece)) {
      if (part.lower != 0 || part.upper != piece.size) return 0;
    }
  }
  const Race alone{~std::uint32_t{0}};
  WorkMeter meter(limits, kMostSteps, alone, 0);
  const Meetings meetings(instance, meter);
  if (!meetings.complete()) return 0;
  return Crowds(instance, meetings, meter).run() + lasting_bytes(instance);
}

}  // namespace stowage::planner::placement
