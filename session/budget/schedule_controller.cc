#include "session/budget/schedule_controller.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "session/ports/device_port.h"
#include "session/ports/heap_margin.h"
#include "session/settings/notice.h"
#include "session/settings/phrases.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kEvictingMarks = 2;  // then an iteration is logged
constexpr std::uint64_t kMostLogs = 3;
constexpr std::uint64_t kRoomsResynced = 4;
// Iterations in a row that differ, then another one is logged: of a schedule that hardly any followed; and of
// others, whose further kinds have got schedules of their own by then.
constexpr std::uint64_t kMostAstrayAtFirst = 3;
constexpr std::uint64_t kMostAstray = 12;
// By these shares of the limit less is each further schedule made from one log, while rescue still makes
// room. Where the job's allocator loses little, little is given up: at a tight budget 1 % may cost a tenth
// more.
constexpr std::array<std::uint64_t, 5> kTighterShares{128, 64, 32, 32, 32};
constexpr std::uint64_t kMostTries = kTighterShares.size();
// Iterations for which rescue makes room, until a plan is being made.
constexpr std::uint64_t kPatienceForPlan = 8;
constexpr std::uint64_t kManyRooms = 5;  // in an iteration: then the first of these shares is left out
constexpr std::uint64_t kMostFits =
    3;  // schedules made from one log for fewer bytes, since the arena does not fit
// Who lets the job wait for longer wants to know what comes when: for a better schedule, too.
constexpr std::chrono::milliseconds kLongestHoldUp{300};
constexpr std::uint64_t kCalmMarks = 8;    // then a schedule is proven
constexpr std::uint64_t kMoreShare = 512;  // of the limit, which pages and alignment may take on top

}  // namespace

void ScheduleController::end_iteration(Bytes limit, std::uint64_t number, bool limited) {
  if (!period_.ends_iteration()) return;
  const RuntimeCounters counts = torch_.counters();
  if (state_.load() == State::kWatching) {
    if (!limited || !try_kept(number)) watch(counts);
  } else if (state_.load() == State::kFollowing) {
    judge(counts, limit);
  }
  if (!follows()) rescue_cost_.note_mark();
  if (scheduler_.busy()) take_schedule(number);
  const FollowCounters before = torch_.follow_counters();
  const bool strayed = (has_left() || has_resynced()) && counts.rooms != at_mark_.rooms;
  if (follows() && !on_trial_) further_.before_end(strayed, before.ops_hash);
  const bool records = state_.load() == State::kRecording || (on_trial_ && to_log_ > 0);
  const bool recorded = records && !std::exchange(asked_now_, false);
  follow_at_mark_ = torch_.follow_counters();
  torch_.end_iteration();
  if (recorded) take_log(limit);
  if (follows() && !on_trial_) further_.after_end(budget_);
  at_mark_ = torch_.counters();
  const FollowCounters follow = torch_.follow_counters();
  const std::lock_guard lock(mutex_);
  facts_.followed = state_.load() == State::kFollowing;
  if (!facts_.followed) return;
  facts_.kinds = kinds();
  facts_.iterations = follow.iterations - follow_before_.iterations;
  facts_.resynced = follow.resynced - follow_before_.resynced;
  facts_.left = follow.left - follow_before_.left;
  facts_.rooms = at_mark_.rooms - rooms_before_;
}

bool ScheduleController::is_steady() const {
  return follows() && followed_ > 0 && astray_ == 0 && !on_trial_ && !is_making() && !further_.is_learning();
}

bool ScheduleController::tighten(Bytes excess, Bytes limit) {
  if (!follows()) return false;
  if (log_ == nullptr) {
    try_again("its arena does not fit any more");
    return state_.load() != State::kAlone;
  }
  if (is_making() || fits_ >= kMostFits) return false;
  ++fits_;
  const Bytes present = present_.height.value() == 0 ? budget_ : std::min(budget_, present_.height);
  ask(saturating_sub(present, excess + Bytes(limit.value() / kMoreShare)));
  return follows();
}

void ScheduleController::watch(const RuntimeCounters& counts) {
  if (counts.evictions + counts.offloads == at_mark_.evictions + at_mark_.offloads) return;
  if (evicting_marks_ == 0) rescue_cost_.begin(at_mark_);
  if (++evicting_marks_ < kEvictingMarks) return;
  ++logs_;
  to_log_ = torch_.record_next(port_);
  asked_now_ = true;
  state_.change(State::kRecording, "iterations evict");
}

void ScheduleController::take_log(Bytes limit) {
  std::optional<Result<StepLog>> log = torch_.take_log();
  if (--to_log_ > 0 && !log) return;  // further iterations make the times of its ops better
  if (!log) return try_again("no iteration was written down");
  if (!log->ok()) return try_again(log->error().message);
  log_ = std::make_shared<const StepLog>(std::move(**log));
  if (!on_trial_) rescue_cost_.note_log(*log_, torch_.counters());  // else a schedule ran those ops again
  tries_ = fits_ = 0;
  if (!on_trial_) state_.change(State::kScheduling, "an iteration is written down");
  const bool in_pages = port_ != nullptr && port_->commits_in_parts();
  ask(saturating_sub(limit, heap_margin(limit) + (in_pages ? page_margin(limit) : Bytes(0))));
}

void ScheduleController::ask(Bytes budget, Effort effort) {
  budget_ = budget;
  effort_ = effort;
  asked_now_ = true;
  improving_ = false;
  if (Status asked = scheduler_.submit(log_, budget, effort); !asked) stay_alone(asked.error().message);
}

void ScheduleController::take_schedule(std::uint64_t number) {
  const bool first = std::exchange(asked_now_, false) && (!improving_ || wait_ > kLongestHoldUp);
  std::optional<Result<Schedule>> made = scheduler_.poll(first ? wait_ : std::chrono::milliseconds(0));
  if (!made) return;
  if (std::exchange(improving_, false)) {
    take_better(*made, number);
    return ask_better();
  }
  if (made->ok()) {
    if (leaves_trial(**made)) return;
    follow(**made, number);
    return follows() && !scheduler_.busy() ? ask_better() : void();
  }
  if (state_.load() != State::kFollowing || on_trial_) {
    if (effort_ == Effort::kFirst && !on_trial_) return ask(budget_, Effort::kMost);
    return stay_alone(made->error().message);
  }
  tries_ = kMostTries;  // keep the present one, which is for more bytes
}

void ScheduleController::follow(const Schedule& schedule, std::uint64_t number) {
  const std::uint64_t replays = schedule.replays;
  const bool is_dearer = rescue_cost_.is_below(schedule);
  if (state_.load() != State::kFollowing && is_dearer) {
    if (schedule.received) return ask(budget_);  // this time it is made here
    if (effort_ == Effort::kFirst) return ask(budget_, Effort::kMost);
    const std::string copies = rescue_cost_.copies_ns() == 0 ? "" : " and copies";
    const std::string copy = schedule.copies == 0 ? "" : " and copy";
    return stay_alone("rescue recomputes" + copies + " for " + in_ms(rescue_cost_.ns().value_or(0)) +
                      " in an iteration, the schedule would recompute" + copy + " for " +
                      in_ms(schedule.added_ns()));
  }
  if (state_.load() == State::kFollowing && is_dearer) {
    tries_ = kMostTries;  // the present one, and rescue beside it, costs less
    fits_ = kMostFits;
    return;
  }
  if (Status followed = torch_.follow(schedule); !followed) return stay_alone(followed.error().message);
  begin_following(schedule, number, "a schedule is there");
  if (tries_ + fits_ > 0) further_.remake(budget_);
  has_arena_ = is_placed(schedule);
  const std::lock_guard lock(mutex_);
  note(1, "budget: a schedule is followed: " + std::to_string(facts_.evictions) + " evictions, " +
              std::to_string(replays) + " ops recomputed and " + std::to_string(schedule.copies) +
              " copies to and from a store in each iteration");
  facts_.recomputed_ops = replays;
  facts_.recompute_ns = schedule.replay_ns;
  facts_.copies = schedule.copies;
  facts_.copy_ns = schedule.copy_ns;
  facts_.wait_ns = schedule.wait_ns;
  facts_.least_ns = schedule.bound_ns;
  if (log_ != nullptr) {
    facts_.ops_ns = ops_ns(*log_);
    facts_.encode_ns = encode_ns(*log_);
    facts_.timed_ops = count_timed_ops(log_->trace.ops);
  }
  facts_.peak = schedule.peak;
  facts_.height = schedule.height;
  facts_.tightened = tries_ + fits_;
}

bool ScheduleController::is_placed(const Schedule& schedule) const {
  const Bytes highest = fits_ == 0 ? budget_ + heap_margin(budget_) : budget_;
  return schedule.height.value() != 0 && schedule.height <= highest;
}

void ScheduleController::begin_following(const Schedule& schedule, std::uint64_t number,
                                         const std::string& why) {
  if (!on_trial_) further_.begin(schedule, log_.get());
  if (schedule.actions != present_.actions) ++number_;
  present_ = schedule;
  is_kept_ = has_arena_ = proven_ = false;
  state_.change(State::kFollowing, why);
  followed_ = calm_ = astray_ = rooms_resynced_ = 0;
  if (tries_ == 0) unplanned_ = 0;
  period_.begin();
  const RuntimeCounters counts = torch_.counters();
  rooms_before_ = counts.rooms;
  const std::lock_guard lock(mutex_);
  facts_.evictions = static_cast<std::uint64_t>(
      std::count_if(schedule.actions.begin(), schedule.actions.end(),
                    [](const Action& action) { return action.kind == ActionKind::kEvict; }));
  if (facts_.since != 0) return;
  facts_.since = number;
  facts_.evictions_before = counts.evictions;
  follow_before_ = torch_.follow_counters();
}

// An arena loses nothing between tensors, so that rescue has nothing to do once one serves.
bool ScheduleController::waits_for_plan() {
  return has_arena_ && (improving_ || ++unplanned_ <= kPatienceForPlan);
}

bool ScheduleController::has_left() const { return torch_.follow_counters().left != follow_at_mark_.left; }

bool ScheduleController::has_resynced() const {
  return torch_.follow_counters().resynced != follow_at_mark_.resynced;
}

// Ignores rescue in the first iteration, which is due to earlier evictions.
void ScheduleController::judge(const RuntimeCounters& counts, Bytes limit) {
  const bool is_calm = counts.rooms == at_mark_.rooms;
  if (has_left()) {
    period_.note_other(torch_.follow_counters().ops_hash, !is_calm);
    if (on_trial_ && to_log_ > 0) return end_trial("the job's ops differ");
    const bool at_first = followed_ <= 1 && further_.count() == 0;
    astray_ = is_calm && !at_first ? 0 : astray_ + 1;
    if (astray_ < (at_first ? kMostAstrayAtFirst : kMostAstray)) return;
    period_.set_marks(1);
    return try_again("the job's ops differ from iteration to iteration");
  }
  astray_ = 0;
  if (period_.note_followed()) return try_again("iterations do not repeat with this number of marks");
  if (++followed_ == 1) return;
  // Room for ops that the schedule does not know: worth one for fewer bytes only if it happens often.
  if (!is_calm && has_resynced()) {
    if (++rooms_resynced_ % kRoomsResynced != 0) return;
    proven_ = false;
  }
  calm_ = is_calm ? calm_ + 1 : 0;
  if (calm_ >= kCalmMarks) proven_ = true;
  const bool few_rooms = counts.rooms - at_mark_.rooms < kManyRooms;
  keep_schedule(tries_ >= kMostTries || (few_rooms && !has_arena_));
  if (few_rooms && !has_arena_) return;  // no plan is to come: each percent less may cost a tenth more
  if (calm_ > 0 || proven_ || held_ || waits_for_plan() || log_ == nullptr || is_making() ||
      tries_ >= kMostTries)
    return;
  if (tries_ == 0) first_share_ = counts.rooms - at_mark_.rooms >= kManyRooms ? 1 : 0;
  const std::uint64_t share = kTighterShares.at(std::min(first_share_ + tries_++, kTighterShares.size() - 1));
  ask(saturating_sub(budget_, Bytes(limit.value() / share)));
}

void ScheduleController::try_again(const std::string& why) {
  if (logs_ >= kMostLogs) return stay_alone(why);
  stop();
}

void ScheduleController::stay_alone(const std::string& why) {
  stop();
  state_.change(State::kAlone, why);
  note(1, "budget: tensors are evicted on demand, without a schedule: " + why);
  const std::lock_guard lock(mutex_);
  facts_.reason = why;
}

void ScheduleController::stop() {
  scheduler_.cancel();
  further_.stop();
  torch_.leave();
  log_.reset();
  held_ = false;
  asked_now_ = on_trial_ = improving_ = false;
  evicting_marks_ = 0;
  if (state_.load() != State::kAlone) state_.change(State::kWatching, "nothing is followed");
  const std::lock_guard lock(mutex_);
  facts_.followed = false;
}

ScheduleFacts ScheduleController::facts() const {
  const std::lock_guard lock(mutex_);
  ScheduleFacts facts = facts_;
  if (kept_ != nullptr) facts.kept = kept_->facts();
  return facts;
}

}  // namespace stowage::session
