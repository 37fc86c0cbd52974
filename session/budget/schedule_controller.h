// Moves a budget from rescue to a schedule, with rescue as the fallback.
//
// Once iterations evict, the runtime logs one of them, a schedule is made from the log in the background,
// and the runtime follows it. Meanwhile a better one is looked for, unless the bound says that there is
// hardly any. If rescue still has to make room, a new schedule is made for fewer bytes; if
// the job's ops differ for several iterations, another one is logged. After a few failures rescue works
// alone, as before; it also does if it recomputed less than the schedule would.
//
// A schedule that an earlier run kept is followed from the first iteration under a limit on, while that is
// logged. It is on trial until it was checked on that log: then it is as one that was made here.
//
// Iterations of other ops in between get schedules of their own (further_schedules.h).
//
// Allocations under a schedule are the same in each iteration, so an arena can be planned for them. While
// there is such a plan, hold() keeps the schedule as it is; if the arena does not fit, tighten() requests
// another one.
//
// Thread safety: facts() from any thread; the rest from the session's conductor.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/timed_ops.h"
#include "planner/schedule/background.h"
#include "session/budget/further_schedules.h"
#include "session/budget/mark_period.h"
#include "session/budget/rescue_cost.h"
#include "session/plans/kept_schedules.h"
#include "session/ports/torch_port.h"
#include "session/states/states.h"

namespace stowage::session {

/// The followed schedule, as of the last mark.
struct ScheduleFacts {
  bool followed = false;
  std::uint64_t since = 0;           ///< iterations that had ended when the first was followed; 0: never
  std::uint64_t kinds = 0;           ///< of iterations that have a schedule
  std::uint64_t evictions = 0;       ///< planned in each iteration of the first kind
  std::uint64_t recomputed_ops = 0;  ///< planned in each iteration
  std::uint64_t recompute_ns = 0;    ///< what these ops took in the logged iteration
  std::uint64_t copies = 0;          ///< planned in each iteration, to stores and back
  std::uint64_t copy_ns = 0;         ///< what these take by their stores' estimates
  std::uint64_t wait_ns = 0;         ///< what ops wait for copies, by these estimates
  std::uint64_t least_ns = 0;        ///< recompute_ns and wait_ns of any schedule within the budget, at least
  std::uint64_t ops_ns = 0;          ///< what all of the job's ops took in the logged iteration
  std::uint64_t encode_ns = 0;       ///< and those that keep values in fewer bytes
  TimedOps timed_ops{};              ///< what says so, of how many ops
  Bytes peak{0};                     ///< planned
  Bytes height{0};                   ///< planned: what its arena and lasting tensors take
  std::uint64_t iterations = 0;      ///< followed to their end
  std::uint64_t resynced = 0;        ///< iterations that differed in a few ops
  std::uint64_t left = 0;            ///< iterations that differed in more
  std::uint64_t rooms = 0;           ///< times that rescue freed something since the present schedule
  std::uint64_t tightened = 0;       ///< schedules made again for fewer bytes
  std::uint64_t improved = 0;        ///< times that a longer search found one that adds less
  std::uint64_t evictions_before = 0;  ///< tensors that rescue evicted until the first was followed
  KeptScheduleFacts kept;              ///< where they came from
  std::string reason;                  ///< why rescue is alone; "" otherwise
};

class ScheduleController {
 public:
  using Maker = planner::schedule::BackgroundScheduler::Maker;
  /// `wait`: how long to wait for a requested schedule. `port`: of the device whose ops are timed; null: they
  /// have modelled times. `maker` makes the schedules. `kept`: those of other runs; null: there are none.
  ScheduleController(TorchPort& torch, std::chrono::milliseconds wait, DevicePort* port = nullptr,
                     Maker maker = planner::schedule::BackgroundScheduler::make,
                     KeptSchedules* kept = nullptr)
      : torch_(torch),
        wait_(wait),
        port_(port),
        kept_(kept),
        maker_(kept == nullptr ? std::move(maker) : kept->before(std::move(maker))) {}
  ScheduleController(TorchPort& torch, std::chrono::milliseconds wait, Maker maker,
                     KeptSchedules* kept = nullptr)
      : ScheduleController(torch, wait, nullptr, std::move(maker), kept) {}

  /// The job's iteration `number`, counted from 1, ended between ops under `limit`; ends it in the runtime.
  /// `limited`: the limit is in force.
  void end_iteration(Bytes limit, std::uint64_t number, bool limited = true);
  /// Stops following. Starts over afterwards, unless rescue works alone permanently.
  void stop();
  /// A schedule is followed.
  [[nodiscard]] bool follows() const { return state_.load() == State::kFollowing; }
  /// What is followed is an earlier run's, and not checked yet.
  [[nodiscard]] bool is_on_trial() const { return on_trial_; }
  /// The last iteration followed it to its end, or needed no room; and no other is being made.
  [[nodiscard]] bool is_steady() const;
  /// Of the schedule that is followed: another one has another number, unless it evicts and restores alike.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// An arena fits into the budget under it.
  [[nodiscard]] bool has_arena() const { return follows() && has_arena_; }
  /// The iteration that begins is logged beside the schedule that is followed.
  [[nodiscard]] bool logs_further() const { return further_.logs(); }
  /// Kinds of iterations that have a schedule.
  [[nodiscard]] std::uint64_t kinds() const { return follows() ? 1 + further_.count() : 0; }
  /// True: keeps the schedule as it is, as long as the job's ops match it.
  void hold(bool held) { held_ = held; }
  /// The arena takes `excess` bytes too many: requests a schedule for that much less. False: there will be
  /// none.
  bool tighten(Bytes excess, Bytes limit);
  [[nodiscard]] ScheduleFacts facts() const;

 private:
  using State = ScheduleState;
  void watch(const RuntimeCounters& counts);
  [[nodiscard]] bool try_kept(std::uint64_t number);
  void end_trial(const std::string& why);
  [[nodiscard]] bool leaves_trial(const Schedule& made);
  void keep_schedule(bool is_last);
  void take_log(Bytes limit);
  using Effort = planner::schedule::Effort;
  void ask(Bytes budget, Effort effort = Effort::kFirst);
  void take_schedule(std::uint64_t number);
  /// An arena fits into the budget.
  [[nodiscard]] bool is_placed(const Schedule& schedule) const;
  /// Looks for one that adds less than the present one.
  void ask_better();
  void take_better(const Result<Schedule>& made, std::uint64_t number);
  /// One is being made that is waited for.
  [[nodiscard]] bool is_making() const { return scheduler_.busy() && !improving_; }
  void follow(const Schedule& schedule, std::uint64_t number);
  void begin_following(const Schedule& schedule, std::uint64_t number, const std::string& why);
  /// Rescue may make room beside the schedule for now, since a plan for it is to come.
  [[nodiscard]] bool waits_for_plan();
  /// In the iteration that ends.
  [[nodiscard]] bool has_left() const;
  [[nodiscard]] bool has_resynced() const;
  void judge(const RuntimeCounters& counts, Bytes limit);
  void try_again(const std::string& why);
  void stay_alone(const std::string& why);

  TorchPort& torch_;
  const std::chrono::milliseconds wait_;
  DevicePort* const port_;
  KeptSchedules* const kept_;
  const Maker maker_;
  planner::schedule::BackgroundScheduler scheduler_{maker_};
  FurtherSchedules further_{torch_, wait_, maker_, kept_};
  RescueCost rescue_cost_;
  std::shared_ptr<const StepLog> log_;  ///< while a schedule may be made from it
  Bytes budget_{0};                     ///< of the schedule that was asked for last
  bool asked_now_ = false;              ///< requested at the last mark
  Effort effort_ = Effort::kFirst;      ///< what was asked for last
  bool improving_ = false;              ///< what is being made is to replace the present one if it adds less
  bool held_ = false;
  bool has_arena_ = false;  ///< under the present schedule
  StateMachine<State> state_{"schedule", State::kWatching, schedule_arcs()};
  std::uint64_t evicting_marks_ = 0;
  std::uint64_t logs_ = 0;       ///< requested
  std::uint64_t to_log_ = 0;     ///< iterations until the one that was requested is there
  std::uint64_t tries_ = 0;      ///< schedules made again from this log
  std::size_t first_share_ = 0;  ///< of the limit, that the first of them gave up: an index
  std::uint64_t astray_ = 0;     ///< iterations in a row that differed
  MarkPeriod period_;
  std::uint64_t followed_ = 0;        ///< iterations of the present schedule
  std::uint64_t rooms_resynced_ = 0;  ///< of these, that went on behind other ops and needed room
  std::uint64_t calm_ = 0;            ///< of these, in a row without rescue
  bool proven_ = false;               ///< it was calm for long
  std::uint64_t unplanned_ = 0;       ///< of these, that needed room while there was no plan
  std::uint64_t fits_ = 0;            ///< schedules made again so that the arena fits
  Schedule present_;                  ///< the followed one
  std::uint64_t number_ = 0;
  bool is_kept_ = false;  ///< it is kept for the next run
  std::optional<KeptSchedule> last_run_;
  std::uint64_t trials_ = 0;  ///< of last_run_
  bool on_trial_ = false;     ///< last_run_ is followed, and not checked yet
  RuntimeCounters at_mark_;
  FollowCounters follow_at_mark_;  ///< before the last mark ended an iteration
  FollowCounters follow_before_;   ///< when the first schedule came
  std::uint64_t rooms_before_ = 0;
  mutable std::mutex mutex_;
  ScheduleFacts facts_;
};

}  // namespace stowage::session
