// Times in which nothing is evicted, in any thread: while suspended, and while an op runs that was not seen
// before it began (thread_watch.h).
//
// Thread safety: any thread.
#pragma once

namespace stowage::recompute {

/// True while an op of a thread runs that was not seen before it began, or while suspended: nothing may be
/// evicted.
bool unseen_op_runs() noexcept;
/// One that was not seen before it began runs while this exists.
class UnseenOpRuns {
 public:
  UnseenOpRuns() noexcept;
  UnseenOpRuns(const UnseenOpRuns&) = delete;
  UnseenOpRuns& operator=(const UnseenOpRuns&) = delete;
  ~UnseenOpRuns();
};

/// Begins or ends a period in which nothing is evicted, in any thread. They nest; an extra end does nothing.
void begin_suspension() noexcept;
void end_suspension() noexcept;
bool suspended() noexcept;

}  // namespace stowage::recompute
