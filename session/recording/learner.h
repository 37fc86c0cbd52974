// Which kinds of iterations deserve a plan, while plans are followed: an evaluation, a shorter last batch,
// the step after a checkpoint.
//
// Iterations are recorded (allocations only) until none has missed for a while, and again once one misses;
// longer each time, so that what comes rarely is recorded as well. A kind that was seen twice deserves a
// plan.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "session/recording/recording.h"

namespace stowage::session {

class Learner {
 public:
  explicit Learner(Recording& recording) : recording_(recording) {}

  /// Plans are followed from now on: records each iteration for a while. `goes_on`: what is recorded already
  /// is kept.
  void begin(bool goes_on = false);
  /// No further kinds are learned, until begin().
  void close() { closed_ = true; }
  /// An iteration ended. `missed`: it had requests off the plan; `planned`: whether iterations of a
  /// fingerprint have a plan or are getting one. True: the iteration before it is of a kind that should get a
  /// plan; what is recorded shows it, and how long what it left alive lives. `evicted`: rescue evicted in it
  /// on demand, and will evict otherwise the next time: what it allocated deserves no plan.
  bool on_iteration(bool missed, const std::function<bool(std::uint64_t)>& planned, bool evicted = false);
  /// An iteration without a plan came by lately: what it left alive may be freed when its kind comes again.
  [[nodiscard]] bool is_unsettled() const { return unplanned_ != 0 && iteration_ - unplanned_ < kUnsettled; }
  static constexpr std::uint64_t kUnsettled = 16;  ///< iterations
  /// Iterations of `fingerprint` came often enough for a plan.
  [[nodiscard]] bool wants(std::uint64_t fingerprint) const;
  /// Call after on_iteration(): stops recording when it is no longer needed. `planning`: plans are being
  /// made.
  void rest(bool missed, bool planning);

 private:
  Recording& recording_;
  bool closed_ = false;
  bool evicted_ = false;           ///< in the iteration that ended last
  std::uint64_t iteration_ = 0;    ///< since begin()
  std::uint64_t last_missed_ = 0;  ///< the last iteration that did
  std::uint64_t unplanned_ = 0;    ///< when an iteration of a kind without a plan was last seen; 0: never
  std::uint64_t left_ = 0;         ///< clean iterations that are still to be recorded
  std::uint64_t written_ = 0;      ///< since the recorder was last empty
  std::map<std::uint64_t, std::uint32_t> seen_;  ///< fingerprint → iterations without a plan
};

}  // namespace stowage::session
