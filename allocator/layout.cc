#include "allocator/layout.h"

#include <algorithm>

#include "core/check.h"

namespace stowage::allocator {

Layout::Layout(const std::vector<Plan>& plans, Bytes mapped, const Layout* previous) {
  collect_boundaries(plans, previous);
  occupancy_ = Occupancy(static_cast<std::uint32_t>(boundaries_.size()));
  owners_ = OwnerTable(boundaries_.size());
  if (previous != nullptr) carry_over(*previous);
  for (const Plan& plan : plans) {
    std::vector<HotEntry>& hot = entries_.emplace_back();
    hot.reserve(plan.entries.size() + 1);
    for (const PlanEntry& entry : plan.entries) {
      HotEntry& made = hot.emplace_back();
      made.stream = entry.stream.value();
      made.slot = make_slot(entry.offset, entry.rounded, mapped.value());
      made.spare = make_slot(entry.spare, entry.rounded, mapped.value());
      if (made.slot.owner != Slot::kNone) made.bytes = entry.rounded.value();
    }
    hot.emplace_back();
  }
}

void Layout::collect_boundaries(const std::vector<Plan>& plans, const Layout* previous) {
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
  if (previous != nullptr) {
    for (const Owner& owner : previous->owners_.places()) {
      if (owner.bytes != 0) add(Offset(owner.offset), Bytes(owner.bytes));
    }
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

Slot Layout::make_slot(Offset offset, Bytes bytes, std::uint64_t mapped) {
  if (offset == kUpstream || bytes.value() > mapped || offset.value() > mapped - bytes.value()) return {};
  STOWAGE_CHECK(bytes.value() > 0, "a plan's entry has no bytes: it was used without Plan::validate()");
  return {offset.value(), run_of(offset.value(), (offset + bytes).value()), owners_.insert(offset.value())};
}

void Layout::carry_over(const Layout& previous) {
  for (const Owner& old : previous.owners_.places()) {
    if (old.bytes == 0) continue;
    Owner& owner = owners_.at(owners_.insert(old.offset));
    owner = old;
    owner.run = run_of(old.offset, old.offset + old.bytes);
    STOWAGE_CHECK(occupancy_.try_take(owner.run), "two live slots overlap");
  }
}

}  // namespace stowage::allocator
