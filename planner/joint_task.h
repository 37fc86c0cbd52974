// What the ways to place kinds of iterations together share: the kinds, the work that is left, and how low a
// placement must be so that no lower one is sought.
//
// Thread safety: one thread.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "planner/joint_options.h"
#include "planner/kinds/arrangement.h"
#include "planner/placer.h"

namespace stowage::planner {

/// Parts of a plan's work (PlanOptions::work_limit) that one placement may take.
constexpr double kQuick = 0.01;
constexpr double kFirstKind = 0.4;
constexpr double kFurtherKind = 0.1;
constexpr double kLargeFirst = 0.4;
constexpr double kSmallAfter = 0.1;
constexpr double kAtOnce = 0.3;

class JointTask {
 public:
  /// All must outlive it. The time begins now.
  JointTask(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop);

  [[nodiscard]] const Kinds& kinds() const { return kinds_; }
  [[nodiscard]] const JointOptions& options() const { return options_; }
  [[nodiscard]] const Placer& placer() const { return placer_; }
  [[nodiscard]] std::size_t count() const { return kinds_.kinds.size(); }

  /// Of these kinds, with the regions that the plans in use gave to streams, where there are several.
  [[nodiscard]] JointProblem problem_of(const std::vector<bool>& members) const;
  [[nodiscard]] JointProblem whole() const { return problem_of(std::vector<bool>(count(), true)); }

  /// The best lower bound of all kinds together that is known.
  [[nodiscard]] Bytes bound() const { return bound_; }
  /// What the better bound costs is wasted on a placement that is good enough by the simple one.
  void raise_bound();
  /// The height that will do.
  [[nodiscard]] Bytes enough() const;
  /// Raises the bound before it says no.
  [[nodiscard]] bool will_do(Bytes height);

  /// Every placement is known to be higher than is of use.
  [[nodiscard]] bool is_hopeless() const { return options_.most && bound_ > *options_.most; }

  /// Large buffers first (kinds/large_first.h); nothing where no size parts `whole`, or either part has no
  /// placement.
  [[nodiscard]] std::optional<placement::Solution> solve_large_first(placement::Problem whole) const;

 private:
  const Kinds& kinds_;
  const JointOptions& options_;
  Placer placer_;
  Bytes bound_;
  bool is_raised_ = false;  ///< bound_ is the better one
};

}  // namespace stowage::planner
