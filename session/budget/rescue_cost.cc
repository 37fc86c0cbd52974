#include "session/budget/rescue_cost.h"

#include <algorithm>

namespace stowage::session {
void RescueCost::note_log(const StepLog& log, const RuntimeCounters& counts) {
  ops_ns_ = ops_ns(log);
  ns_.reset();
  if (counts.evicted != Bytes(0)) return;
  const std::uint64_t marks = std::max<std::uint64_t>(marks_, 1);
  const std::uint64_t mean = (counts.replays - replays_before_) / marks;
  copies_ns_ = (counts.copy_cost_ns - copies_before_ns_) / marks;
  const std::uint64_t logged = log.replayed.size();
  const std::uint64_t ns = replayed_ns(log);
  if (ns != 0 || std::max(mean, logged) == 0) ns_ = copies_ns_ + (mean > logged ? ns * mean / logged : ns);
}

// A schedule is worth a little: it needs no search, and an arena can be planned for it.
bool RescueCost::is_below(const Schedule& schedule) const {
  return ns_ && is_too_dear(schedule.added_ns(), *ns_, ops_ns_);
}

}  // namespace stowage::session
