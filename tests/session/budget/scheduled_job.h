// A job under a budget whose iterations a test ends one by one, and the controller of its schedules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

#include "session/budget/schedule_controller.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {

inline constexpr std::uint64_t kOpNs = 100'000;
inline constexpr Bytes kLimit{std::uint64_t{1} << 20u};

class ScheduledJob : public ::testing::Test {
 protected:
  using Effort = planner::schedule::Effort;

  // An iteration of one op, which rescue runs again `replays` times; it takes 100 ns.
  ScheduledJob() { rescue(7); }
  void rescue(std::uint64_t replays) {
    StepLog log;
    log.trace.ops.resize(1);
    log.trace.ops.front().duration_ns = kOpNs;
    log.shape_hashes = {1};
    log.replayed.assign(replays, 1);
    torch_.iteration.emplace(std::move(log));
  }

  Schedule usual_one(const StepLog& log) const {
    Schedule schedule;
    schedule.shape_hashes = log.shape_hashes;
    schedule.actions = {{ActionKind::kEvict, 0, 0}, {ActionKind::kRematerialize, 1, 0}};
    schedule.replays = 7;
    schedule.bound_ns = bound_ns_;
    return schedule;
  }
  Result<Schedule> better_one(const StepLog& log, Bytes budget, Effort effort) {
    ++(effort == Effort::kMore ? asked_more_ : asked_most_);
    if (budget < least_.load()) return Error{ErrorCode::kUnplannable, "the least budget is more"};
    Schedule schedule = usual_one(log);
    schedule.actions.front().entry = schedule.actions.back().entry = 1;
    schedule.replay_ns = effort == Effort::kMore ? better_ns_ : std::min(better_ns_, best_ns_);
    schedule.height = better_height_;
    return schedule;
  }
  ScheduleController::Maker maker() {
    return
        [this](const StepLog& log, Bytes budget, Effort effort, const std::stop_token&) -> Result<Schedule> {
          if (effort != Effort::kFirst) return better_one(log, budget, effort);
          budgets_.push_back(budget);
          if (budget < least_.load()) return Error{ErrorCode::kUnplannable, "the least budget is more"};
          Schedule schedule = usual_one(log);
          schedule.replay_ns = budgets_.size() <= made_ns_.size() ? made_ns_[budgets_.size() - 1] : 7 * kOpNs;
          schedule.received = budgets_.size() <= received_;
          schedule.height = height_;
          return schedule;
        };
  }
  void mark() { budget_.end_iteration(kLimit, ++marks_); }
  // An iteration in which rescue evicts something.
  void rescued() {
    ++torch_.counts.evictions;
    ++torch_.counts.rooms;
    mark();
  }
  void followed(bool with_rooms = false) {
    ++torch_.counts.evictions;
    ++torch_.follow_counts.iterations;
    ++torch_.follow_counts.evictions;
    if (with_rooms) ++torch_.counts.rooms;
    mark();
  }
  // Rescue makes room in iterations that may be planned yet.
  void awaited_in_vain() {
    for (int i = 0; i < 8; ++i) followed(true);
  }
  void differing() {
    ++torch_.follow_counts.left;
    rescued();
  }
  static StepLog of_other_ops() {
    StepLog log;
    log.trace.ops.resize(2);
    log.shape_hashes = {1, 2};
    return log;
  }
  void until_followed() {
    rescued();
    rescued();  // is to be written down: the next one
    rescued();  // has been
    rescued();  // the schedule is there
  }

  FakeTorch torch_;
  std::vector<Bytes> budgets_;
  std::vector<std::uint64_t> made_ns_;      ///< that the first schedules take
  std::size_t received_ = 0;                ///< of them, another process made
  std::uint64_t bound_ns_ = 0;              ///< of all
  std::uint64_t better_ns_ = 1000 * kOpNs;  ///< that the longer search's schedules take
  std::uint64_t best_ns_ = 1000 * kOpNs;    ///< and those of the longest, if it is less
  Bytes better_height_{kLimit.value() / 2};
  // One search may run while the test reads these: the longest begins when the longer one's is taken.
  std::atomic<std::size_t> asked_more_{0};
  std::atomic<std::size_t> asked_most_{0};
  std::atomic<Bytes> least_{Bytes(0)};
  Bytes height_{kLimit.value() / 2};
  std::uint64_t marks_ = 0;
  ScheduleController budget_{torch_, std::chrono::minutes(1), maker()};
};

}  // namespace stowage::session
