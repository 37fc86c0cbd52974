#include "allocator/layout/idle_segments.h"

#include <algorithm>
#include <utility>

namespace stowage::allocator {
namespace {

// By segment: whether anything live lies in it that begins at none of the offsets `but` (ascending).
std::vector<bool> in_use(const std::vector<Segment>& segments, const Layout& layout,
                         const std::vector<std::uint64_t>& but = {}) {
  std::vector<bool> used(segments.size(), false);
  const auto ends_after = [](std::uint64_t offset, const Segment& segment) { return offset < segment.end; };
  for (const Owner& owner : layout.owners().places()) {
    if (!owner.live() || std::binary_search(but.begin(), but.end(), owner.offset)) continue;
    const std::uint64_t end = owner.offset + owner.rounded().value();
    auto at = std::upper_bound(segments.begin(), segments.end(), owner.offset, ends_after);
    for (; at != segments.end() && at->begin < end; ++at)
      used[static_cast<std::size_t>(at - segments.begin())] = true;
  }
  return used;
}

}  // namespace

void IdleSegments::note_arena() {
  idle_.clear();
  segments_ = arena_.segments();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (!segments_[i].committed) idle_.push_back(i);
  }
  committed_.store(arena_.committed().value(), std::memory_order_relaxed);
}

bool IdleSegments::commit_for(std::uint64_t begin, std::uint64_t end, Layout& layout) {
  if (idle_.empty() || device_full_ || held_back_) return false;
  const std::unique_lock<std::mutex> guard(changing_, std::try_to_lock);
  if (!guard) return false;  // another thread is adding or removing memory
  const std::vector<Segment> segments = arena_.segments();
  bool any = false;
  for (std::size_t position = idle_.size(); position-- > 0;) {
    const Segment& segment = segments[idle_[position]];
    if (segment.end <= begin || segment.begin >= end) continue;
    device_full_ = !commit(position, layout).ok();
    if (device_full_) return false;
    any = true;
  }
  return any;
}

Bytes IdleSegments::lacking(std::uint64_t begin, std::uint64_t end) const {
  if (device_full_) return Bytes(0);
  Bytes sum{0};
  for (const std::size_t index : idle_) {
    if (segments_[index].end > begin && segments_[index].begin < end) sum += segments_[index].bytes();
  }
  return sum;
}

Bytes IdleSegments::pinned(const Layout& layout, const std::vector<std::uint64_t>& but) const {
  const std::vector<Segment> segments = arena_.segments();
  const std::vector<bool> used = in_use(segments, layout, but);
  Bytes sum{0};
  for (std::size_t i = 0; i < segments.size(); ++i) sum += used[i] ? segments[i].bytes() : Bytes(0);
  return sum;
}

Status IdleSegments::commit(std::size_t position, Layout& layout) {
  const std::size_t index = idle_[position];
  if (Status done = arena_.commit(index); !done.ok()) return done;
  idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(position));
  layout.put_in_service(arena_.segments()[index]);
  committed_.store(arena_.committed().value(), std::memory_order_relaxed);
  return {};
}

void IdleSegments::take_out(Offset from, Bytes most, const std::vector<Plan>& plans, Layout& layout) {
  std::vector<Segment> segments = arena_.segments();
  const std::vector<bool> used = in_use(segments, layout);
  std::vector<std::size_t> idle;
  Bytes taken{0};
  for (std::size_t i = segments.size(); i-- > 0;) {
    if (segments[i].committed && !used[i] && segments[i].begin >= from.value() && taken < most) {
      segments[i].committed = false;
      taken += segments[i].bytes();
    }
    if (!segments[i].committed) idle.push_back(i);
  }
  std::reverse(idle.begin(), idle.end());
  layout = Layout(plans, segments, &layout);
  segments_ = std::move(segments);
  idle_ = std::move(idle);
}

void IdleSegments::give_back() noexcept {
  for (const std::size_t index : idle_) static_cast<void>(arena_.decommit(index));
}

Bytes IdleSegments::put_back(Layout& layout) {
  const std::vector<Segment> segments = arena_.segments();
  std::erase_if(idle_, [&](std::size_t index) {
    if (segments[index].committed) layout.put_in_service(segments[index]);
    return segments[index].committed;
  });
  const Bytes before = committed();
  committed_.store(arena_.committed().value(), std::memory_order_relaxed);
  return before - committed();
}

Status IdleSegments::commit_below(Bytes end, Layout& layout) {
  device_full_ = false;
  for (std::size_t position = idle_.size(); position-- > 0;) {
    if (segments_[idle_[position]].begin >= end.value()) continue;
    if (Status done = commit(position, layout); !done.ok()) return done;
  }
  return {};
}

}  // namespace stowage::allocator
