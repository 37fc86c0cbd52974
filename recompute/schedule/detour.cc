#include "recompute/schedule/detour.h"

#include <algorithm>

namespace stowage::recompute {

void Detour::begin_iteration() {
  passed_.clear();
  differing_ = 0;
  on_ = lost_ = false;
}

std::size_t Detour::most(const Shapes& known) const {
  const std::size_t share = known.size() / kShare;
  return std::min(kMost, share - std::min(share, differing_));
}

std::optional<Detour::Way> Detour::pass(std::uint64_t shape, std::size_t made, const Shapes& known,
                                        std::size_t from) {
  on_ = true;
  passed_.push_back({shape, made});
  if (passed_.size() < kAlike) return std::nullopt;
  const std::size_t instead = passed_.size() - kAlike;
  for (std::size_t left_out = 0; left_out <= most(known); ++left_out) {
    if (!end_as(passed_, kAlike, known, from + left_out)) continue;
    differing_ += std::max(instead, left_out);
    const Way way{from + left_out + kAlike - 1, passed_[instead].made};
    passed_.clear();
    on_ = false;
    return way;
  }
  lost_ = instead >= most(known);
  return std::nullopt;
}

bool Detour::ends_well(const Shapes& known, std::size_t from) const {
  return !lost_ && std::max(passed_.size(), known.size() - from) <= most(known);
}

}  // namespace stowage::recompute
