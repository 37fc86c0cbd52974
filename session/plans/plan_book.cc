#include "session/plans/plan_book.h"

#include <utility>

#include "session/plans/plan_cache.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr double kGoodEnough = 0.001;  // of the lower bound: better ones are looked for while the plan serves

}  // namespace

// ---- making

planner::PlanOptions PlanBook::options() const {
  planner::PlanOptions options;
  options.work_limit = settings_.plan_work;
  options.time_limit_s = settings_.plan_seconds;
  return options;
}

Status PlanBook::submit(Trace trace, planner::PlanOptions options, Making making) {
  if (!source_) source_ = make_plan_source(settings_.fault);
  Status submitted = source_->submit(std::move(trace), std::move(options));
  if (submitted) making_ = making;
  return submitted;
}

Status PlanBook::make_first(const Trace& trace) {
  planner::PlanOptions chosen = options();
  chosen.good_enough = kGoodEnough;
  return submit(trace, std::move(chosen), Making::kFirst);
}

Status PlanBook::make_beside(Trace trace) {
  planner::PlanOptions chosen = options();
  for (std::size_t i = first_in_use_; i < plans_.size(); ++i) chosen.siblings.push_back(&plans_[i]);
  return submit(std::move(trace), std::move(chosen), Making::kFurther);
}

void PlanBook::make_lower(const Trace& trace) {
  if (source_) static_cast<void>(submit(trace, options(), Making::kLower));
}

std::optional<Result<Plan>> PlanBook::poll(std::chrono::milliseconds wait) {
  std::optional<Result<Plan>> made = source_->poll(wait);
  if (made) making_ = Making::kNothing;
  return made;
}

void PlanBook::cancel() {
  if (source_) source_->cancel();
  making_ = Making::kNothing;
}

// ---- in use

void PlanBook::use_only(Plan plan) {
  plans_.push_back(std::move(plan));
  first_in_use_ = plans_.size() - 1;
}

void PlanBook::use_beside(Plan plan) { plans_.push_back(std::move(plan)); }

std::vector<Plan> PlanBook::in_use() const {
  return {plans_.begin() + static_cast<std::ptrdiff_t>(first_in_use_), plans_.end()};
}

// ---- between runs

std::optional<PlanBook::Kept> PlanBook::find_kept(const Trace& trace) {
  for (std::uint32_t marks = 1; marks <= kMaxPeriodMarks; ++marks) {
    const std::optional<Window> window = last_window(trace, marks);
    if (!window) return std::nullopt;
    Result<std::optional<Plan>> found = find_plan(settings_.plan_cache, trace, *window);
    if (!found.ok()) {
      if (!std::exchange(warned_, true)) warn(found.error().message);
      continue;
    }
    if (found->has_value()) return Kept{std::move(**found), *window, marks};
  }
  return std::nullopt;
}

void PlanBook::keep() {
  if (settings_.plan_cache.empty()) return;
  if (Status saved = store_plan(settings_.plan_cache, info_, last()); !saved) warn(saved.error().message);
}

void PlanBook::forget_kept() {
  if (!settings_.plan_cache.empty()) forget_plan(settings_.plan_cache, info_, plans_[first_in_use_]);
}

}  // namespace stowage::session
