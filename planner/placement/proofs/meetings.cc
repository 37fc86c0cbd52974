#include "planner/placement/proofs/meetings.h"

#include <algorithm>

namespace stowage::planner::placement {
namespace {

struct Stay {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t owner;
};

/// By begin.
std::vector<Stay> stays_of(const Instance& instance) {
  std::vector<Stay> stays;
  const auto add_life = [&](const Life& life, std::uint32_t owner) {
    stays.push_back({life.begin, life.end, owner});
    if (life.wrapped_end != 0) stays.push_back({0, life.wrapped_end, owner});
  };
  const auto pieces = static_cast<std::uint32_t>(instance.pieces.size());
  for (std::uint32_t p = 0; p < pieces; ++p) {
    const Piece& piece = instance.pieces[p];
    if (piece.solid()) add_life(piece.life, p);
    for (const Part& part : instance.parts_of(piece)) stays.push_back({part.begin, part.end, p});
  }
  for (std::uint32_t o = 0; o < instance.obstacles.size(); ++o)
    add_life(instance.obstacles[o].life, pieces + o);
  std::stable_sort(stays.begin(), stays.end(),
                   [](const Stay& a, const Stay& b) { return a.begin < b.begin; });
  return stays;
}

}  // namespace

// Each pair is noted at both of its ends. So whoever goes through all notes in the order of one end writes
// those of the other end in this order, without sorting.
Meetings::Meetings(const Instance& instance, WorkMeter& meter) {
  const std::size_t pieces = instance.pieces.size();
  std::vector<std::vector<std::uint32_t>> met(pieces + instance.obstacles.size());
  std::vector<Stay> alive;
  std::size_t pairs = 0;
  for (const Stay& stay : stays_of(instance)) {
    std::erase_if(alive, [&](const Stay& other) { return other.end <= stay.begin; });
    pairs += 2 * alive.size();
    if (!meter.spend(2 * alive.size() + 8) || pairs > kMost) return;
    for (const Stay& other : alive) {
      if (other.owner == stay.owner || std::min(other.owner, stay.owner) >= pieces) continue;
      met[stay.owner].push_back(other.owner);
      met[other.owner].push_back(stay.owner);
    }
    alive.push_back(stay);
  }
  std::vector<std::vector<std::uint32_t>> ordered(pieces);
  for (std::uint32_t owner = 0; owner < met.size(); ++owner) {
    for (const std::uint32_t other : met[owner]) {
      if (other >= pieces || (!ordered[other].empty() && ordered[other].back() == owner)) continue;
      ordered[other].push_back(owner);
    }
  }
  from_.push_back(0);
  for (const std::vector<std::uint32_t>& own : ordered) {
    others_.insert(others_.end(), own.begin(), own.end());
    from_.push_back(others_.size());
  }
}

}  // namespace stowage::planner::placement
