// Turns a budget held by rescue into one that a schedule holds, with rescue behind it.
//
// Once iterations evict, one of them is logged, a schedule is made from it in the background, and the runtime
// follows that. Where rescue still has to make room, the schedule is made again for less; where the
// job's ops differ for several iterations, another one is logged. After a few failures, or if rescue
// recomputes less than the schedule would, only rescue is used.
//
// What is allocated under a schedule is the same in each iteration, so that an arena can be planned for it.
// While there is such a plan, hold() keeps the schedule as it is; where the arena does not fit, tighten() has
// another one made.
//
// Thread safety: facts() from any thread; the rest from the session's conductor.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "planner/schedule/background.h"
#include "session/ports/torch_port.h"
#include "session/states/states.h"

namespace stowage::session {

/// What is followed, as of the last mark.
struct ScheduleFacts {
  bool followed = false;
  std::uint64_t since = 0;           ///< iterations that had ended when the first was followed; 0: never
  std::uint64_t evictions = 0;       ///< planned in each iteration
  std::uint64_t recomputed_ops = 0;  ///< planned in each iteration
  Bytes peak{0};                     ///< planned
  Bytes height{0};                   ///< planned: what an arena for it takes, with what stays
  std::uint64_t iterations = 0;      ///< followed to their end
  std::uint64_t left = 0;            ///< iterations that differed from the schedule
  std::uint64_t rooms = 0;           ///< times that rescue freed something since the present schedule
  std::uint64_t tightened = 0;       ///< schedules made again for less
  std::string reason;                ///< why only rescue is used; "" otherwise
};

class ScheduleController {
 public:
  using Maker = planner::schedule::BackgroundScheduler::Maker;
  /// `wait`: how long to wait for a schedule that was requested.
  ScheduleController(TorchPort& torch, std::chrono::milliseconds wait) : torch_(torch), wait_(wait) {}
  /// With another maker of schedules, for tests.
  ScheduleController(TorchPort& torch, std::chrono::milliseconds wait, Maker maker)
      : torch_(torch), wait_(wait), scheduler_(std::move(maker)) {}

  /// The job's iteration `number`, counted from 1, ended between ops under `limit`; ends it in the runtime.
  void end_iteration(Bytes limit, std::uint64_t number);
  /// Follows nothing. Afterwards it starts over, unless it has given up schedules.
  void stop();
  /// One is followed.
  [[nodiscard]] bool follows() const { return state_.load() == State::kFollowing; }
  /// The last iteration followed it to its end, and no other is being made.
  [[nodiscard]] bool is_steady() const;
  /// An arena fits into the budget under it.
  [[nodiscard]] bool has_arena() const { return follows() && has_arena_; }
  /// True: it stays as it is, as long as the job's ops are those of the schedule.
  void hold(bool held) { held_ = held; }
  /// The arena takes `excess` bytes too much: makes a schedule for that much less. False: there will be none.
  bool tighten(Bytes excess, Bytes limit);
  [[nodiscard]] ScheduleFacts facts() const;

 private:
  using State = ScheduleState;
  void watch(const RuntimeCounters& counts);
  void note_rescue(const RuntimeCounters& counts);
  [[nodiscard]] bool repeats_later();
  void take_log(Bytes limit);
  void ask(Bytes budget);
  void take_schedule(std::uint64_t number);
  void follow(const Schedule& schedule, std::uint64_t number);
  void judge(const RuntimeCounters& counts, Bytes limit);
  void try_again(const std::string& why);
  void stay_alone(const std::string& why);

  TorchPort& torch_;
  const std::chrono::milliseconds wait_;
  planner::schedule::BackgroundScheduler scheduler_;
  std::shared_ptr<const StepLog> log_;  ///< while a schedule may be made of it
  Bytes budget_{0};                     ///< of the schedule that was requested last
  bool asked_now_ = false;              ///< at the last mark
  bool held_ = false;
  bool has_arena_ = false;  ///< under the present schedule
  StateMachine<State> state_{"schedule", State::kWatching, schedule_arcs()};
  std::uint64_t evicting_marks_ = 0;
  std::uint64_t logs_ = 0;             ///< asked for
  std::uint64_t tries_ = 0;            ///< schedules made again of this log
  std::uint64_t astray_ = 0;           ///< iterations in a row that differed
  std::uint64_t period_ = 1;           ///< marks of an iteration: two optimizers make two
  std::uint64_t marks_in_period_ = 0;  ///< since one began
  std::uint64_t since_followed_ = 0;   ///< marks since the schedule was followed to its end
  std::uint64_t last_distance_ = 0;    ///< marks between the two times before that
  std::uint64_t followed_ = 0;         ///< iterations of the present schedule
  std::uint64_t calm_ = 0;             ///< of these, in a row without rescue
  bool proven_ = false;                ///< it was calm for long
  std::uint64_t fits_ = 0;             ///< schedules made again so that the arena fits
  std::uint64_t rescue_replays_ = 0;   ///< ops that rescue ran again in its best iteration
  RuntimeCounters at_mark_;
  std::uint64_t left_at_mark_ = 0;  ///< iterations that differed, before the last mark ended one
  FollowCounters follow_before_;    ///< when the first schedule came
  std::uint64_t rooms_before_ = 0;
  mutable std::mutex mutex_;
  ScheduleFacts facts_;
};

}  // namespace stowage::session
