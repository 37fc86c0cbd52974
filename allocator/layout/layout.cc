#include "allocator/layout/layout.h"

#include <algorithm>

#include "core/support/check.h"

namespace stowage::allocator {

Layout::Layout(const std::vector<Plan>& plans, const std::vector<Segment>& segments, const Layout* previous) {
  const std::uint64_t mapped = segments.empty() ? 0 : segments.back().end;
  mapped_ = mapped;
  if (previous != nullptr) iteration_ = previous->iteration_;
  collect_boundaries(plans, segments, previous);
  occupancy_ = planned_ = scratch_ = Occupancy(static_cast<std::uint32_t>(boundaries_.size()));
  owners_ = OwnerTable(boundaries_.size());
  if (previous != nullptr) carry_over(*previous);
  for (const Segment& segment : segments) {
    if (segment.committed) continue;
    STOWAGE_CHECK(occupancy_.try_take(run_of(segment.begin, segment.end)), "a live slot has no memory");
  }
  for (const Plan& plan : plans) {
    Table& table = tables_.emplace_back();
    table.entries.reserve(plan.entries.size() + 1);
    table.spares.reserve(plan.entries.size());
    for (const PlanEntry& entry : plan.entries) {
      const Slot slot = make_slot(entry, entry.offset, mapped);
      table.entries.push_back({slot.owner == Slot::kNone ? 0 : entry.rounded.value(), slot});
      table.spares.push_back(make_slot(entry, entry.spare, mapped));
    }
    table.entries.emplace_back();
  }
  note_planned();
}

void Layout::collect_boundaries(const std::vector<Plan>& plans, const std::vector<Segment>& segments,
                                const Layout* previous) {
  const auto add = [this](Offset offset, Bytes bytes) {
    if (offset == kUpstream) return;
    boundaries_.push_back(offset.value());
    boundaries_.push_back((offset + bytes).value());
  };
  for (const Plan& plan : plans) {
    for (const PlanEntry& entry : plan.entries) {
      add(entry.offset, entry.rounded);
      add(entry.spare, entry.rounded);
    }
  }
  add_grid(segments, boundaries_.empty() ? 0 : *std::max_element(boundaries_.begin(), boundaries_.end()));
  if (previous != nullptr) {
    for (const Owner& owner : previous->owners_.places()) {
      if (owner.live()) add(Offset(owner.offset), owner.rounded());
    }
  }
  for (const Segment& segment : segments) {
    if (!segment.committed) add(Offset(segment.begin), segment.bytes());
  }
  std::sort(boundaries_.begin(), boundaries_.end());
  boundaries_.erase(std::unique(boundaries_.begin(), boundaries_.end()), boundaries_.end());
}

SegmentRun Layout::run_of(std::uint64_t begin, std::uint64_t end) const {
  const auto index = [this](std::uint64_t boundary) {
    const auto found = std::lower_bound(boundaries_.begin(), boundaries_.end(), boundary);
    return static_cast<std::uint32_t>(found - boundaries_.begin());
  };
  return {index(begin), index(end) - 1};
}

Slot Layout::make_slot(const PlanEntry& entry, Offset offset, std::uint64_t mapped) {
  const Bytes bytes = entry.rounded;
  if (offset == kUpstream || bytes.value() > mapped || offset.value() > mapped - bytes.value()) return {};
  STOWAGE_CHECK(bytes.value() > 0, "a plan's entry has no bytes: it was used without Plan::validate()");
  return {offset.value(), run_of(offset.value(), (offset + bytes).value()), owners_.insert(offset.value()),
          entry.stream};
}

void Layout::carry_over(const Layout& previous) {
  for (const Owner& old : previous.owners_.places()) {
    if (!old.live()) continue;
    Owner& owner = owners_.at(owners_.insert(old.offset));
    owner = old;
    owner.run = run_of(old.offset, old.offset + old.rounded().value());
    STOWAGE_CHECK(occupancy_.try_take(owner.run), "two live slots overlap");
  }
}

}  // namespace stowage::allocator
