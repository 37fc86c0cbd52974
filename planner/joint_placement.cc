#include "planner/joint_placement.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/joint_task.h"
#include "planner/one_by_one.h"

namespace stowage::planner {
namespace {

using placement::Solution;
using Effort = OneByOne::Effort;

class JointPlanner {
 public:
  JointPlanner(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop)
      : task_(kinds, options, stop), one_by_one_(task_) {}

  // What is lower than the plans in use is mostly found by placing large buffers first, and sooner than it is
  // known that little effort is not enough, or that the bound is no better.
  Result<JointPlan> run() {
    if (Status status = keep_in_use(Effort::kLittle); !status) return status.error();
    const bool seeks_lower = best_ && best_->height > task_.enough();
    if (seeks_lower) place_large_first();
    if (one_by_one_.has_spared() && seeks_more()) {
      if (Status status = keep_in_use(Effort::kFull); !status) return status.error();
    }
    if (seeks_more()) take(one_by_one_.place(Effort::kLittle));
    if (seeks_more() && !seeks_lower) place_large_first();
    if (seeks_more()) take(one_by_one_.place(Effort::kFull));
    if (seeks_more() && task_.count() > 1) take(place_at_once());
    if (task_.placer().stopped()) return Error{ErrorCode::kCancelled, "planning was cancelled"};
    if (!best_) return *failed_;
    return plans_of(task_.kinds(), *best_, task_.options().device, task_.bound());
  }

 private:
  [[nodiscard]] bool seeks_more() {
    if (!best_) return true;
    return !task_.will_do(best_->height) && !task_.is_hopeless();
  }

  void take(Result<Arrangement> made) {
    if (!made.ok()) {
      failed_ = made.error();
    } else if (!best_ || made->height < best_->height) {
      best_ = *std::move(made);
    }
  }

  /// The plans in use stay as they are, if they can.
  Status keep_in_use(Effort effort) {
    Arrangement kept{nothing_placed(task_.kinds()), Bytes(0), "kept"};
    std::vector<bool> members = take_over(task_.options().in_use, task_.kinds(), kept.places);
    if (std::find(members.begin(), members.end(), true) == members.end()) return {};
    Result<Arrangement> made = one_by_one_.keep(std::move(kept), std::move(members), effort);
    if (made.ok()) {
      take(std::move(made));
      return {};
    }
    return made.error().code == ErrorCode::kCancelled ? Status(made.error()) : Status();
  }

  void place_large_first() {
    const JointProblem whole = task_.whole();
    const std::optional<Solution> all = task_.solve_large_first(whole.problem);
    if (!all || (best_ && all->height >= best_->height)) return;
    best_ = arranged(whole, *all, "large-first");
  }

  Result<Arrangement> place_at_once() {
    const JointProblem whole = task_.whole();
    const Result<Solution> solved = task_.placer().solve(whole.problem, kAtOnce, task_.enough());
    if (!solved) return solved.error();
    return arranged(whole, *solved, {});
  }

  [[nodiscard]] Arrangement arranged(const JointProblem& whole, const Solution& solution,
                                     std::string technique) const {
    Arrangement made{nothing_placed(task_.kinds()), Bytes(0), std::move(technique)};
    put_in(whole, solution, made);
    return made;
  }

  JointTask task_;
  OneByOne one_by_one_;
  std::optional<Arrangement> best_;
  std::optional<Error> failed_;  ///< why one of the ways came to nothing
};

}  // namespace

Result<JointPlan> place_jointly(const Kinds& kinds, const JointOptions& options,
                                const std::stop_token& stop) {
  return JointPlanner(kinds, options, stop).run();
}

}  // namespace stowage::planner
