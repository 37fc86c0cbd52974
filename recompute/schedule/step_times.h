// The times of an iteration's ops, measured over several logged iterations: each op has the median over those
// that ran the same ops, without the first, which pays for attaching the instrument.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/step_log.h"
#include "recompute/schedule/op_timer.h"

namespace stowage::recompute {

class StepTimes {
 public:
  /// `timer`: null if nothing measures ops; then one iteration is logged, and it keeps its times.
  explicit StepTimes(std::unique_ptr<OpTimer> timer) : timer_(std::move(timer)) {}

  /// How many iterations are to be logged before put_into() makes sense.
  [[nodiscard]] std::uint32_t iterations() const { return timer_ != nullptr ? timer_->iterations() : 1; }
  /// How many of them are still to come.
  [[nodiscard]] std::uint32_t to_come() const {
    return iterations() - static_cast<std::uint32_t>(iterations_.size());
  }
  /// The next ops belong to a further iteration.
  void begin_iteration();
  TimedOp start() { return timer_ != nullptr ? timer_->start() : TimedOp(); }
  /// `op`: its number within the iteration.
  void stop(const TimedOp& started, std::uint32_t op);
  /// What start() began is no op of the iteration, nor part of the one around it.
  void stop_aside(TimedOp started);
  /// The iteration ended; `log` is of it.
  void end_iteration(const StepLog& log) { iterations_.back().shapes = log.shape_hashes; }
  /// Sets the times of the last iteration's log to what was measured; where nothing was they stay.
  void put_into(StepLog& log);

 private:
  struct Iteration {
    std::uint32_t first_op = 0;  ///< number that its op 0 has for the timer
    std::vector<std::uint64_t> shapes;
  };
  [[nodiscard]] std::vector<std::uint32_t> firsts_of_same(const StepLog& log) const;

  const std::unique_ptr<OpTimer> timer_;
  std::vector<Iteration> iterations_;
  std::uint32_t next_op_ = 0;
};

}  // namespace stowage::recompute
