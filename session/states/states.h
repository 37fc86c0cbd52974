// The states of a session, its budget and its schedule, and a state machine that changes them only along the
// arcs of a table.
//
// docs/states.md draws the tables; a test compares.
// Thread safety: load() from any thread; the rest by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "session/settings/notice.h"

namespace stowage::session {

/// kOnline: the job has no plan, and its requests get room in the arena wherever they fit best. kRescuing: it
/// has no plan, and rescue holds its budget.
enum class SessionState : std::uint8_t { kRecording, kPlanning, kPlanned, kOnline, kRescuing, kOff };
const char* to_string(SessionState state);

/// kNone: there is none, or it is refused. kArmed: there is none before the device is nearly full. kWatching:
/// the runtime sees ops. kResting: the runtime is uninstalled, and the limit stays.
enum class BudgetState : std::uint8_t { kNone, kArmed, kEnded, kWaiting, kWatching, kResting };
const char* to_string(BudgetState state);

/// kRecording: an iteration is logged. kAlone: rescue works without a schedule from now on.
enum class ScheduleState : std::uint8_t { kWatching, kRecording, kScheduling, kFollowing, kAlone };
const char* to_string(ScheduleState state);

/// From one state to another, and when that happens.
template <class State>
struct Arc {
  State from;
  State to;
  const char* when;
};
std::span<const Arc<SessionState>> session_arcs();
std::span<const Arc<BudgetState>> budget_arcs();
std::span<const Arc<ScheduleState>> schedule_arcs();

template <class State>
class StateMachine {
 public:
  /// `name`: what the state belongs to, for messages. `arcs` must outlive it.
  StateMachine(const char* name, State first, std::span<const Arc<State>> arcs)
      : name_(name), state_(first), arcs_(arcs) {}

  [[nodiscard]] State load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return state_.load(order);
  }
  /// Changes to `to`, if it is not that already. Throws std::logic_error where no arc leads there: that is a
  /// mistake in Stowage.
  void change(State to, const std::string& why) {
    const State from = load(std::memory_order_relaxed);
    if (from == to) return;
    const std::string what = std::string(name_) + ": " + to_string(from) + " to " + to_string(to);
    if (!leads(from, to))
      throw std::logic_error(what + " is not a change that its table allows; please report this");
    state_.store(to, std::memory_order_release);
    note(2, what + " (" + why + ")");
  }
  /// For a forked child or a failure, regardless of the table. Takes no lock.
  void force(State to) noexcept { state_.store(to, std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool leads(State from, State to) const {
    for (const Arc<State>& arc : arcs_) {
      if (arc.from == from && arc.to == to) return true;
    }
    return false;
  }

  const char* const name_;
  std::atomic<State> state_;
  const std::span<const Arc<State>> arcs_;
};

/// The arcs as a state diagram in Mermaid's language, one arc a line.
template <class State>
std::string chart(std::span<const Arc<State>> arcs) {
  std::string text = "stateDiagram-v2\n";
  for (const Arc<State>& arc : arcs)
    text += std::string("  ") + to_string(arc.from) + " --> " + to_string(arc.to) + ": " + arc.when + "\n";
  return text;
}

}  // namespace stowage::session
