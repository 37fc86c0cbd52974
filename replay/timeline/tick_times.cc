#include "replay/timeline/tick_times.h"

#include <algorithm>

namespace stowage::replay {

TickTimes::TickTimes(const Trace& trace) {
  for (const Op& op : trace.ops) {
    if (op.end_ns == 0) continue;
    anchors_.push_back({op.begin, op.begin_ns});
    if (op.end != kNever) anchors_.push_back({op.end, op.end_ns});
  }
  for (const Mark& mark : trace.marks)
    if (mark.at_ns != 0) anchors_.push_back({mark.tick, mark.at_ns});
  std::sort(anchors_.begin(), anchors_.end(),
            [](const Anchor& a, const Anchor& b) { return a.tick < b.tick; });
  for (std::size_t i = 1; i < anchors_.size(); ++i)  // a thread may be late to take its tick
    anchors_[i].ns = std::max(anchors_[i].ns, anchors_[i - 1].ns);
}

std::uint64_t TickTimes::ns(Tick tick) const {
  if (anchors_.empty()) return 0;
  const auto after = std::lower_bound(anchors_.begin(), anchors_.end(), tick,
                                      [](const Anchor& anchor, Tick at) { return anchor.tick < at; });
  if (after == anchors_.end()) return anchors_.back().ns;
  if (after == anchors_.begin() || after->tick == tick) return after->ns;
  const Anchor& before = *(after - 1);
  const auto ticks = static_cast<double>(after->tick.value() - before.tick.value());
  const double share = static_cast<double>(tick.value() - before.tick.value()) / ticks;
  return before.ns + static_cast<std::uint64_t>(share * static_cast<double>(after->ns - before.ns));
}

}  // namespace stowage::replay
