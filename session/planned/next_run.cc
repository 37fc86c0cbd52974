#include "session/planned/next_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "allocator/arena/backend.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr std::int64_t kSharesOfRun = 32;  // the job waits at its end for 1/this of its time

}  // namespace

void NextRun::on_iteration() {
  const Bytes outside = arena_.outside_bytes(port_.upstream_use());
  least_outside_ = std::min(least_outside_.value_or(outside), outside);
  if (plans_.lacks_beginning() && ++begun_ % kBegun == 0) learn_beginning();
  if (asked_) return take(std::chrono::milliseconds(0));
  if (!plans_.next_is_due() || plans_.makes_anew()) {
    settled_ = 0;
    return;
  }
  if (asked_times_ != 0 && ++settled_ < kSettled) return;
  if (plans_.lacks_next()) ask();
}

void NextRun::learn_beginning() {
  if (!recording_.is_on() || !recording_.has_beginning()) return;
  plans_.learn_beginning(recording_.recorder().snapshot(tracer::Extent::kAll));
}

void NextRun::ask() {
  // Not shared: it may be asked for at exit, when other ranks are gone.
  if (!source_) source_ = make_plan_source(settings_.fault, nullptr);
  settled_ = 0;
  ++asked_times_;
  PlanBook::Next next = plans_.ask_next();
  if (source_->submit(next.all.kinds, next.options)) asked_ = std::move(next);
}

void NextRun::take(std::chrono::milliseconds wait) {
  std::optional<Result<JointPlan>> made = source_->poll(wait);
  if (!made) return;
  const PlanBook::Next asked = *std::exchange(asked_, std::nullopt);
  if (!made->ok()) return note(1, "the next run will not begin planned: " + made->error().message);
  keep(planner::begin_with_opening(*std::move(*made), asked.all, asked.bound));
}

void NextRun::keep(const JointPlan& plans) {
  for (const Plan& plan : plans.plans) {
    if (const Status valid = plan.validate(); !valid) return note(1, valid.error().message);
  }
  const Bytes outside =
      std::max(least_outside_.value_or(arena_.outside_bytes(port_.upstream_use())), guard_.beside());
  const Bytes lasting = planner::lasting_bytes(plans);
  const Bytes stays = saturating_sub(outside, lasting);
  const Bytes sum = allocator::round_up_to(plans.height, port_.arena_page()) + stays;
  const std::optional<Bytes> most = guard_.most();
  if (most && sum > *most)
    return note(
        1, "the next run will not begin planned: it would need " + std::to_string(sum.value()) + " bytes");
  const Bytes need = most ? facts_.need(Bytes(0), Bytes(0)) : Bytes(0);
  note(1, "the next run can begin planned: " + std::to_string(plans.opening) + " iterations, then " +
              std::to_string(plans.plans.size() - plans.opening) + " kinds, in " +
              std::to_string(plans.height.value()) + " bytes (lower bound " +
              std::to_string(plans.lower_bound.value()) + ")");
  plans_.keep_next(plans, need);
}

void NextRun::finish() {
  if (plans_.lacks_beginning() && begun_ >= kBegun / 2) learn_beginning();
  if (plans_.next_is_due()) drop();  // what is being made lacks a kind
  if (!asked_ && plans_.next_is_due() && plans_.lacks_next()) ask();
  if (asked_) take(patience());
  cancel();
}

std::chrono::milliseconds NextRun::patience() const {
  const auto ran =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - made_);
  const auto most = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * settings_.plan_seconds));
  return std::max(std::chrono::milliseconds(settings_.plan_wait_ms), std::min(most, ran / kSharesOfRun));
}

void NextRun::cancel() {
  drop();
  least_outside_.reset();
}

void NextRun::drop() {
  if (source_) source_->cancel();
  asked_.reset();
}

}  // namespace stowage::session
