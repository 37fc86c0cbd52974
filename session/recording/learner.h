// Learns further kinds of iteration while a plan is followed, such as an evaluation or a shorter last
// batch.
//
// While iterations diverge, their allocations are recorded (no ops). A kind of iteration that was seen
// diverging twice gets a plan of its own beside the others.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "session/plans/windows.h"
#include "session/recording/recording.h"

namespace stowage::session {

class Learner {
 public:
  explicit Learner(Recording& recording) : recording_(recording) {}

  /// The job has its first plan: `kind` (windows.h) is the only kind of iteration that has one.
  void know_only(std::uint64_t kind);
  /// Plans are followed from now on: records each iteration for a while.
  void begin();
  /// No further kinds are learned, until begin().
  void close() { closed_ = true; }
  /// A mark inside an iteration, or the one that ends it.
  void on_mark() { ++marks_in_iteration_; }
  /// An iteration ended with the last mark. `missed`: it had requests off the plan; `planning`: a further
  /// plan is being made. Returns a trace to plan from, if the iteration before it is of a kind that should
  /// get a plan.
  std::optional<Trace> on_iteration(bool missed, bool planning);
  /// The trace that on_iteration() returned last is being planned: its kind of iteration needs no other plan.
  void accept() { planned_kinds_.insert(offered_); }
  /// Call after on_iteration(): stops recording when it is no longer needed.
  void rest(bool missed, bool planning);

 private:
  std::optional<Trace> consider(const Trace& trace, std::uint32_t marks, std::uint32_t marks_after);

  Recording& recording_;
  bool closed_ = false;
  bool wrote_ = false;         ///< the last iteration was recorded, and the next one will be
  std::uint64_t left_ = 0;     ///< iterations still to be recorded
  std::uint64_t next_ = 0;     ///< as many as were turned on last; the next divergence doubles it
  std::uint64_t written_ = 0;  ///< since the recorder was last empty
  std::uint32_t marks_in_iteration_ = 0;
  std::uint32_t diverged_marks_ = 0;             ///< marks of the last iteration if it had misses, else 0
  std::map<std::uint64_t, std::uint32_t> seen_;  ///< kind of iteration → diverging ones that were considered
  std::uint64_t offered_ = 0;                    ///< kind of iteration that on_iteration() gave last
  std::set<std::uint64_t> planned_kinds_;        ///< those that have a plan or are getting one
};

}  // namespace stowage::session
