#include "plugin/budget/planned_budget.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plugin/notice.h"

namespace stowage::plugin {
namespace {

constexpr std::uint64_t kEvictingMarks = 2;  // then an iteration is written down
constexpr std::uint64_t kMostLogs = 3;
constexpr std::uint64_t kMostAstray = 3;  // iterations in a row, then another one is written down
constexpr std::uint64_t kMostTries = 4;   // for less, of one log
constexpr std::uint64_t kCalmMarks = 8;   // then the log is not needed any more
// The heap holds a little more for a block than a log knows of, and a request takes that first.
constexpr std::uint64_t kMarginShare = 512;
constexpr std::uint64_t kLeastMargin = 16384;  // bytes
constexpr std::uint64_t kTighterShare = 32;

Bytes less(Bytes from, std::uint64_t by) { return from - Bytes(std::min(from.value(), by)); }

}  // namespace

void PlannedBudget::end_iteration(Bytes limit, std::uint64_t number) {
  const RescueDriver& driver = rescue_driver();
  const RescueCounts counts = driver.counts();
  if (state_ == State::kWatching) watch(counts);
  if (state_ == State::kFollowing) judge(counts, limit);
  if (scheduler_.busy()) take_schedule(number);
  const bool recorded = state_ == State::kRecording && !std::exchange(asked_now_, false);
  left_at_mark_ = driver.follow_counts().left;
  driver.end_iteration();
  if (recorded) take_log(limit);
  at_mark_ = driver.counts();
  const FollowCounts follow = driver.follow_counts();
  const std::lock_guard lock(mutex_);
  facts_.followed = state_ == State::kFollowing;
  if (!facts_.followed) return;
  facts_.iterations = follow.iterations - follow_before_.iterations;
  facts_.left = follow.left - follow_before_.left;
  facts_.rooms = at_mark_.rooms - rooms_before_;
}

void PlannedBudget::watch(const RescueCounts& counts) {
  if (counts.evictions == at_mark_.evictions || ++evicting_marks_ < kEvictingMarks) return;
  ++logs_;
  rescue_driver().record_next();
  asked_now_ = true;
  state_ = State::kRecording;
}

void PlannedBudget::take_log(Bytes limit) {
  std::optional<Result<StepLog>> log = rescue_driver().take_log();
  if (!log) return try_again("no iteration was written down");
  if (!log->ok()) return try_again(log->error().message);
  log_ = std::make_shared<const StepLog>(std::move(**log));
  tries_ = 0;
  state_ = State::kScheduling;
  ask(less(limit, std::max(limit.value() / kMarginShare, kLeastMargin)));
}

void PlannedBudget::ask(Bytes budget) {
  budget_ = budget;
  asked_now_ = true;
  if (Status asked = scheduler_.submit(log_, budget); !asked) stay_alone(asked.error().message);
}

void PlannedBudget::take_schedule(std::uint64_t number) {
  const bool first = std::exchange(asked_now_, false);
  std::optional<Result<Schedule>> made = scheduler_.poll(first ? wait_ : std::chrono::milliseconds(0));
  if (!made) return;
  if (made->ok()) return follow(**made, number);
  if (state_ != State::kFollowing) return stay_alone(made->error().message);
  tries_ = kMostTries;  // the one for more goes on
}

void PlannedBudget::follow(const Schedule& schedule, std::uint64_t number) {
  const RescueDriver& driver = rescue_driver();
  const auto evictions = static_cast<std::uint64_t>(
      std::count_if(schedule.actions.begin(), schedule.actions.end(),
                    [](const Action& action) { return action.kind == ActionKind::kEvict; }));
  const std::uint64_t replays = schedule.replays;
  const Bytes peak = schedule.peak;
  if (Status followed = driver.follow(schedule); !followed) return stay_alone(followed.error().message);
  state_ = State::kFollowing;
  followed_ = calm_ = astray_ = 0;
  rooms_before_ = driver.counts().rooms;
  note(1, "budget: a schedule is followed: " + std::to_string(evictions) + " evictions and " +
              std::to_string(replays) + " ops recomputed in each iteration");
  const std::lock_guard lock(mutex_);
  if (facts_.since == 0) {
    facts_.since = number;
    follow_before_ = driver.follow_counts();
  }
  facts_.evictions = evictions;
  facts_.recomputed_ops = replays;
  facts_.peak = peak;
  facts_.tightened = tries_;
}

// What rescue does in the first iteration is still owed to what was evicted before.
void PlannedBudget::judge(const RescueCounts& counts, Bytes limit) {
  if (rescue_driver().follow_counts().left != left_at_mark_) {
    if (++astray_ >= kMostAstray) try_again("the job's ops differ from iteration to iteration");
    return;
  }
  astray_ = 0;
  if (++followed_ == 1) return;
  calm_ = counts.rooms == at_mark_.rooms ? calm_ + 1 : 0;
  if (calm_ >= kCalmMarks) log_.reset();
  if (calm_ > 0 || log_ == nullptr || scheduler_.busy() || tries_ >= kMostTries) return;
  ++tries_;
  ask(less(budget_, limit.value() / kTighterShare));
}

void PlannedBudget::try_again(const std::string& why) {
  if (logs_ >= kMostLogs) return stay_alone(why);
  stop();
}

void PlannedBudget::stay_alone(const std::string& why) {
  stop();
  state_ = State::kAlone;
  note(1, "budget: rescue alone makes room, without a schedule: " + why);
  const std::lock_guard lock(mutex_);
  facts_.reason = why;
}

void PlannedBudget::stop() {
  scheduler_.cancel();
  rescue_driver().leave();
  log_.reset();
  asked_now_ = false;
  evicting_marks_ = 0;
  if (state_ != State::kAlone) state_ = State::kWatching;
  const std::lock_guard lock(mutex_);
  facts_.followed = false;
}

PlannedBudgetFacts PlannedBudget::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace stowage::plugin
