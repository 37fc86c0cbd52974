#include "recompute/stores/extents.h"

#include <algorithm>
#include <iterator>

#include "core/support/check.h"

namespace stowage::recompute {

std::optional<Extent> Extents::take(std::uint64_t bytes) {
  const std::uint64_t needed = whole(bytes);
  auto best = free_.end();
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second >= needed && (best == free_.end() || at->second < best->second)) best = at;
  }
  if (best == free_.end()) return std::nullopt;
  const auto [offset, room] = *best;
  free_.erase(best);
  if (room > needed) free_.emplace(offset + needed, room - needed);
  used_ += needed;
  return Extent{offset, bytes};
}

std::uint64_t Extents::free_at_end() const {
  if (free_.empty()) return 0;
  const auto& [offset, bytes] = *free_.rbegin();
  return offset + bytes == end_ ? bytes : 0;
}

std::uint64_t Extents::end_for(std::uint64_t bytes) const {
  const std::uint64_t needed = whole(bytes);
  return end_ + needed - std::min(needed, free_at_end());
}

void Extents::grow(std::uint64_t end) {
  STOWAGE_CHECK(end >= end_ && end % grain_ == 0, "a space grows by whole grains");
  if (end == end_) return;
  const std::uint64_t begin = end_;
  end_ = end;
  add_free(begin, end - begin);
}

void Extents::give_back(const Extent& extent) {
  const std::uint64_t bytes = whole(extent.bytes);
  STOWAGE_CHECK(extent.offset + bytes <= end_ && bytes <= used_, "what is given back was taken");
  used_ -= bytes;
  add_free(extent.offset, bytes);
}

std::uint64_t Extents::shrink() {
  const std::uint64_t bytes = free_at_end();
  if (bytes > 0) free_.erase(std::prev(free_.end()));
  end_ -= bytes;
  return end_;
}

void Extents::add_free(std::uint64_t offset, std::uint64_t bytes) {
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && offset + bytes == after->first) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace stowage::recompute
