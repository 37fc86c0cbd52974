// Room in an arena for requests that have no place in the plan that is followed.
#include <algorithm>

#include "allocator/layout/layout.h"

namespace stowage::allocator {
namespace {

constexpr std::uint64_t kPieces = 512;      // the arena is cut into, besides at the slots' ends
constexpr std::uint64_t kSmallPiece = 512;  // bytes, of the part that no plan has a place in
constexpr std::uint64_t kLeastPiece = 64 * 1024;

std::uint64_t up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

// Slots' ends alone would leave pieces too large for what has no place: a hole is a run of whole pieces.
void Layout::add_grid(const std::vector<Segment>& segments, std::uint64_t planned) {
  if (segments.empty()) return;
  const std::uint64_t end = segments.back().end;
  boundaries_.push_back(end);
  const std::uint64_t piece = up(std::max(end / kPieces, kLeastPiece), kLeastPiece);
  for (std::uint64_t at = 0; at < std::min(planned, end); at += piece) boundaries_.push_back(at);
  if (planned >= end) return;
  const std::uint64_t small = up(std::max((end - planned) / kPieces, kSmallPiece), kSmallPiece);
  for (std::uint64_t at = up(planned, kGranule.value()); at < end; at += small) boundaries_.push_back(at);
}

void Layout::note_planned() {
  for (const Table& table : tables_) {
    for (const HotEntry& entry : table.entries) {
      if (entry.slot.owner != Slot::kNone) planned_.cover(entry.slot.run);
    }
    for (const Slot& spare : table.spares) {
      if (spare.owner != Slot::kNone) planned_.cover(spare.run);
    }
  }
}

std::optional<SegmentRun> Layout::tightest(const Occupancy& taken, std::uint64_t bytes) const {
  const auto end = std::lower_bound(boundaries_.begin(), boundaries_.end(), mapped_);
  std::optional<SegmentRun> best;
  std::uint64_t least = 0;
  taken.for_free_runs(static_cast<std::uint32_t>(end - boundaries_.begin()), [&](SegmentRun run) {
    const std::uint64_t begin = boundaries_[run.first], room = boundaries_[run.last + 1] - begin;
    if (room < bytes || (best && room >= least)) return;
    least = room;
    const auto last = std::lower_bound(boundaries_.begin() + run.first, boundaries_.end(), begin + bytes);
    best = SegmentRun{run.first, static_cast<std::uint32_t>(last - boundaries_.begin()) - 1};
  });
  return best;
}

// The places of a plan's entries from `from` up to `to`, in scratch_.
void Layout::cover(std::uint32_t plan, std::size_t from, std::size_t to) {
  const Table& table = tables_[plan];
  for (std::size_t i = from; i < to; ++i) {
    if (table.entries[i].slot.owner != Slot::kNone) scratch_.cover(table.entries[i].slot.run);
    if (table.spares[i].owner != Slot::kNone) scratch_.cover(table.spares[i].run);
  }
}

std::optional<Slot> Layout::take_hole(Bytes requested, StreamId stream, const Ahead& ahead,
                                      bool nowhere_planned) {
  if (boundaries_.empty()) return std::nullopt;
  const Occupancy* taken = &occupancy_;
  if (nowhere_planned) {
    scratch_.unite(occupancy_, planned_);
    taken = &scratch_;
  } else if (ahead.from < ahead.to || ahead.next) {
    scratch_ = occupancy_;  // as many words: nothing is allocated
    cover(ahead.plan, ahead.from, ahead.to);
    if (ahead.next) cover(*ahead.next, 0, tables_[*ahead.next].spares.size());
    taken = &scratch_;
  }
  const std::optional<SegmentRun> run = tightest(*taken, round_up(requested).value());
  if (!run) return std::nullopt;
  const Slot slot{boundaries_[run->first], *run, owners_.insert(boundaries_[run->first]), stream};
  if (!try_take(slot, requested)) return std::nullopt;
  return slot;
}

bool Layout::begin_iteration() noexcept {
  constexpr std::uint8_t kClampEvery = 64;
  if (++iteration_ % kClampEvery != 0) return false;
  owners_.for_live([this](Owner& owner) { clamp_age(owner); });
  return true;
}

}  // namespace stowage::allocator
