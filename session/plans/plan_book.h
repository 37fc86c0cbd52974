// The plans of a job: those in use, those that are being made in the background, and those that are kept
// between runs (plan_cache.h).
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "session/plans/plan_source.h"
#include "session/plans/windows.h"
#include "session/settings/settings.h"

namespace stowage::session {

class PlanBook {
 public:
  /// `source`: null for the background planner. `settings` and `info` must outlive it.
  PlanBook(const Settings& settings, const TraceInfo& info, std::unique_ptr<PlanSource> source)
      : settings_(settings), info_(info), source_(std::move(source)) {}

  // ---- making

  /// Asks for the first plan, which may be a little above its lower bound. Error: no thread could be started.
  Status make_first(const Trace& trace);
  /// Requests a plan for a further kind of iteration, beside those in use. Errors as make_first().
  Status make_beside(Trace trace);
  /// Requests a lower placement of the plan in use, which was made from `trace`; does nothing if no thread
  /// can be started.
  void make_lower(const Trace& trace);
  [[nodiscard]] bool makes_further() const { return making_ == Making::kFurther; }
  [[nodiscard]] bool makes_lower() const { return making_ == Making::kLower; }
  /// The requested plan, if it is ready; waits for it at most `wait`. Returns each plan once.
  std::optional<Result<Plan>> poll(std::chrono::milliseconds wait);
  /// Cancels what is being made.
  void cancel();
  /// As cancel(), and waits until no thread of the planner runs.
  void end() { source_.reset(); }

  // ---- in use

  void use_only(Plan plan);
  void use_beside(Plan plan);
  /// Plans side by side, the first one first.
  [[nodiscard]] std::vector<Plan> in_use() const;
  [[nodiscard]] std::size_t count_in_use() const { return plans_.size() - first_in_use_; }
  /// The latest plan. Requires: one was used.
  [[nodiscard]] const Plan& last() const { return plans_.back(); }

  // ---- between runs

  struct Kept {
    Plan plan;
    Window window;            ///< of the trace, that it is for
    std::uint32_t marks = 1;  ///< that the window holds
  };
  /// The plan of an earlier run for the last iteration of `trace`. A file that cannot be used is a warning.
  std::optional<Kept> find_kept(const Trace& trace);
  /// Saves the latest plan, if plans are to be kept.
  void keep();
  /// Removes the kept first plan in use: the job's next run should not begin with it.
  void forget_kept();

 private:
  enum class Making : std::uint8_t { kNothing, kFirst, kFurther, kLower };
  [[nodiscard]] planner::PlanOptions options() const;
  Status submit(Trace trace, planner::PlanOptions options, Making making);

  const Settings& settings_;
  const TraceInfo& info_;
  std::unique_ptr<PlanSource> source_;
  Making making_ = Making::kNothing;
  std::deque<Plan> plans_;        ///< all that were ever used; never shrinks, since the planner may read them
  std::size_t first_in_use_ = 0;  ///< index in `plans_`
  bool warned_ = false;           ///< of a file that cannot be used
};

}  // namespace stowage::session
