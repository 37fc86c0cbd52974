// What is left of a plan's time and work, for one placement after the other.
//
// Thread safety: one thread; place() starts others.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "planner/placement/solve.h"
#include "planner/plan_options.h"

namespace stowage::planner {

/// Error: kInvalidArgument, naming the option that is out of its bounds.
[[nodiscard]] Status check_options(const PlanOptions& options);

class Placer {
 public:
  /// The time begins now. `options` and `stop` must outlive it. Requires: check_options().
  Placer(const PlanOptions& options, const std::stop_token& stop);

  /// Places and validates; may do `share` of the plan's work. With a capacity the first placement within it
  /// will do; without, the lowest one is sought.
  [[nodiscard]] Result<placement::Solution> solve(placement::Problem problem, double share,
                                                  std::optional<Bytes> capacity = {}) const;
  /// The first placement that is within options.good_enough of `bound`, else the lowest one.
  [[nodiscard]] Result<placement::Solution> solve_near(const placement::Problem& problem, Bytes bound,
                                                       double share) const;
  /// Of `share` of the plan's work.
  [[nodiscard]] placement::Limits limits(double share) const;
  /// `bound`, and what is good enough above it.
  [[nodiscard]] Bytes enough(Bytes bound) const;
  [[nodiscard]] bool stopped() const { return stop_.stop_requested(); }

 private:
  const PlanOptions& options_;
  const std::stop_token& stop_;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point deadline_;
  mutable placement::SharedWork work_;
};

}  // namespace stowage::planner
