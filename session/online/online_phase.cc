#include "session/online/online_phase.h"

#include "session/settings/notice.h"
#include "session/settings/phrases.h"

namespace stowage::session {

bool OnlinePhase::may_begin() const {
  return settings_.online && !budget_.on() && !budget_.pending() && port_.may_wait();
}

// What was first recorded is kept for the user, and says what expandable segments would reserve.
Status OnlinePhase::begin() {
  if (facts_.trace() == nullptr) planning_.begin();
  recording_.stop();
  room_.release_upstream();
  if (Status served = arena_.serve_online(port_.upstream_use().peak_reserved); !served) return served;
  guard_.trust_plan(false);
  guard_.begin(/*online=*/true);
  worth_.restart();
  iterations_.restart();
  repetition_.restart();
  facts_.note_switch();
  arena_.resume();
  note(1, "no plan: requests are served from the arena wherever they fit best");
  return {};
}

SessionVerdict OnlinePhase::on_mark(MarkSource source) {
  const std::optional<ServedIteration> ended = iterations_.on_mark(source);
  if (!ended) return {};
  const SessionVerdict oversized = worth_.on_iteration(ended->is_clean());
  // Which memory a request takes is decided when it comes: also in an iteration that is larger than all
  // before.
  arena_.watch_memory(!port_.commits_on_touch());
  if (oversized.changes())
    return {SessionState::kOff,
            "without a plan the arena takes " + in_mib(ended->reserved) + ", and " +
                in_mib(guard_.last_most()) + " are enough without it",
            /*releases_cache=*/true};
  return learn();
}

SessionVerdict OnlinePhase::learn() {
  const std::uint64_t sequence = arena_.allocator().take_sequence();
  if (recording_.is_on()) {
    if (recording_.is_settled()) return {SessionState::kPlanning, "the job repeats itself by now"};
    if (++recorded_ == kRecorded) recording_.stop();
  } else if (repetition_.on_iteration(sequence, settings_.max_plans)) {
    recorded_ = 0;
    recording_.start(/*device_is_empty=*/false);
  }
  return {};
}

}  // namespace stowage::session
