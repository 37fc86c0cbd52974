#include "session/rescue/eviction_watch.h"

#include <utility>

namespace stowage::session {
namespace {

constexpr std::uint64_t kEvictingMarks = 3;  // of one recording, then it ends
constexpr std::uint64_t kCalmMarks = 16;     // in a row, then the job is recorded again

}  // namespace

std::optional<SessionVerdict> EvictionWatch::on_mark(MarkSource source, SessionState now) {
  evicted_ = budget_.on_mark(source);
  if (budget_.on()) {
    arena_.meter(budget_.schedule().logs_further());
    port_.even_out(evicted_, now == SessionState::kPlanned);
  }
  const bool recorded = now == SessionState::kRecording;
  const bool follows = budget_.schedule().follows();
  helped_ = evicted_ && budget_.schedule().is_steady();
  evicted_ = evicted_ && !helped_;  // what rescue does beside a schedule is not in the recording
  const bool left = std::exchange(follows_, follows) && !follows;
  if (now == SessionState::kRescuing || (evicted_ && recorded)) recording_.note_before(facts_);
  if (!recorded || (!evicted_ && !left)) return std::nullopt;
  arena_.give_back();
  recording_.stop_ops();
  recording_.forget();
  if (!evicted_ || ++evicting_marks_ < kEvictingMarks) return SessionVerdict{};
  return SessionVerdict{SessionState::kRescuing, {}};
}

SessionVerdict EvictionWatch::rescued_mark() {
  arena_.give_back();
  lasting_.gather_once();
  calm_marks_ = evicted_ ? 0 : calm_marks_ + 1;
  const ScheduleController& schedule = budget_.schedule();
  if (calm_marks_ < (schedule.is_steady() ? 1 : kCalmMarks)) return {};
  if ((schedule.follows() && !schedule.has_arena()) || facts_.has_reason()) return {};
  evicting_marks_ = 0;
  return {SessionState::kRecording, "iterations are alike again"};
}

}  // namespace stowage::session
