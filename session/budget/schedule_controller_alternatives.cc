// Alternatives to what the first search makes: a schedule that an earlier run kept, followed before this run
// has logged an iteration; and one that a longer search finds while the first is followed.
#include <algorithm>
#include <utility>

#include "session/budget/schedule_controller.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kMostTrials = 3;   // iterations that may differ: an evaluation may come first
constexpr std::uint64_t kSmallGain = 100;  // 1/this of the ops' time: not worth another schedule
constexpr std::uint64_t kPlansGain = 20;   // 1/this of the iteration's time: worth another plan

}  // namespace

// Nothing can go wrong but its being of no use: an iteration whose ops differ leaves it, only what may go is
// evicted, and rescue stands behind it.
bool ScheduleController::try_kept(std::uint64_t number) {
  if (kept_ == nullptr || logs_ > 0 || trials_ >= kMostTrials) return false;
  if (trials_++ == 0) last_run_ = kept_->of_last_run();
  Schedule schedule;
  if (last_run_) {
    schedule.shape_hashes = last_run_->shape_hashes;
    schedule.made_before = last_run_->made_before;
    schedule.actions = last_run_->actions;
    schedule.lasting = last_run_->lasting;
  }
  if (!last_run_ || !torch_.follow(schedule)) {
    trials_ = kMostTrials;
    return false;
  }
  period_.set_marks(last_run_->marks);
  to_log_ = torch_.record_next(port_);
  on_trial_ = asked_now_ = true;
  begin_following(schedule, number, "an earlier run kept one");
  note(1, "budget: the schedule of an earlier run is followed until it is checked");
  return true;
}

void ScheduleController::end_trial(const std::string& why) {
  stop();
  period_.set_marks(1);
  note(1, "budget: the schedule of an earlier run is not followed: " + why);
  if (trials_ >= kMostTrials) kept_->refuse_last_run();
}

// Another one is there, since the kept one does not fit. An arena that is planned under that one goes first.
bool ScheduleController::leaves_trial(const Schedule& made) {
  if (!std::exchange(on_trial_, false) || made.actions == last_run_->actions || !held_) return false;
  trials_ = kMostTrials;
  end_trial("it does not fit into this run's limit");
  return true;
}

// What rescue does not add to is worth keeping, or what cannot be made any better.
void ScheduleController::keep_schedule(bool is_last) {
  if (kept_ == nullptr || on_trial_ || is_kept_ || (calm_ == 0 && !is_last)) return;
  is_kept_ = true;
  kept_->keep(present_, static_cast<std::uint32_t>(period_.marks()));
}

// An earlier run has looked for what it kept. What another rank made is looked for like one made here: all
// ranks are to have the better one.
void ScheduleController::ask_better() {
  if (effort_ == Effort::kMost || log_ == nullptr || !follows() || on_trial_) return;
  if (kept_ != nullptr && kept_->facts().found > 0) return;
  const std::uint64_t most_gained = present_.added_ns() - std::min(present_.added_ns(), present_.bound_ns);
  if (most_gained < ops_ns(*log_) / kSmallGain) return;
  effort_ = longer(effort_);
  improving_ = asked_now_ = static_cast<bool>(scheduler_.submit(log_, budget_, effort_));
}

// Not for next to nothing. Where an arena is planned under the present one, the session has to plan again:
// not for little. Where none fits under the better one, only for much.
void ScheduleController::take_better(const Result<Schedule>& made, std::uint64_t number) {
  if (!made || !follows() || log_ == nullptr) return;
  const std::uint64_t all_ns = ops_ns(*log_), present_ns = present_.added_ns();
  if (made->added_ns() + all_ns / kSmallGain > present_ns) return;
  if (held_ && made->added_ns() + (all_ns + present_ns) / kPlansGain > present_ns) return;
  const bool loses_plans = has_arena_ && !is_placed(*made);
  if (loses_plans && !is_too_dear(present_ns, made->added_ns(), all_ns)) return;
  follow(*made, number);
  const std::lock_guard lock(mutex_);
  ++facts_.improved;
}

}  // namespace stowage::session
