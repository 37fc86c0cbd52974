// The conductor of a session: it asks the parts at each mark, and acts on what they say. Only session*.cc
// include this.
//
// Thread safety: `state` is read by any thread; the members are for the thread that holds `conductor`. A mark
// that arrives while another thread is inside one is the same mark, and is dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <string>

#include "session/session.h"
#include "session/session_parts.h"
#include "session/states/conductor_lock.h"

namespace stowage::session {

struct Session::State : SessionParts {
  using SessionParts::SessionParts;

  StateMachine<SessionState> state{"session", SessionState::kRecording, session_arcs()};
  ConductorLock conductor;
  bool warned = false;
  bool left_opening = false;  ///< the arena may hold what the job made before it was recorded

  [[nodiscard]] bool is_planned() const {
    return state.load(std::memory_order_relaxed) == SessionState::kPlanned;
  }
  /// The arena serves, or a plan for it is being made.
  [[nodiscard]] bool is_past_recording() const {
    const SessionState now = state.load(std::memory_order_relaxed);
    return now == SessionState::kPlanning || now == SessionState::kPlanned || now == SessionState::kOnline;
  }
  /// Runs `work` as the conductor; a failure turns the session off. Does nothing while another thread
  /// conducts, nor during a graph capture: nothing can be switched there, and a capture is no iteration of
  /// the job's.
  template <class Work>
  void conduct(Work work) {
    if (hot.forked.load(std::memory_order_relaxed) || !port.may_wait()) return;
    if (!conductor.try_lock()) return;
    try {
      work();
    } catch (const std::exception& error) {
      fail({ErrorCode::kInternal, error.what()});
    }
    conductor.unlock();
  }
  /// A request needs `bytes`: gives up unused parts of the arena. True if anything was given up. Waits at
  /// most `patience` for another conducting thread.
  bool give_up_arena(Bytes bytes, std::chrono::milliseconds patience);
  /// How long a request that would fail waits for another conducting thread.
  [[nodiscard]] std::chrono::milliseconds patience() const;
  /// BudgetController::await_others(), except where other threads may wait for this one.
  bool await_others(Bytes bytes, bool refused);
  /// Upstream gave out `bytes`: if the device is nearly full, "auto" takes effect at the next time between
  /// ops; or it ends, if `shows_peak`: the allocations show the job's own peak.
  void watch_device(Bytes bytes, bool shows_peak);
  void join_budget();
  void start_recording();
  void begin_at_first_allocation();
  void begin_planned();
  void opening_mark(MarkSource source);
  void leave_opening(const std::string& why);
  void leave_opening_inside();
  void finish_next_run() noexcept;
  void mark(MarkSource source);
  void recording_mark(MarkSource source);
  void planning_mark();
  void unmarked_for_long();
  /// `records_on`: what is recorded already is kept.
  void adopt(JointPlan made, bool records_on = false);
  void end_early_step();
  void act_on(const SessionVerdict& verdict);
  /// The only way to another state, except stop(). Throws where docs/states.md has no arc.
  void transition(SessionState to, const std::string& why);
  void enter(SessionState to, const std::string& why);
  void record_again(const std::string& why);
  void serve_online(const std::string& why);
  void rescue(const std::string& why);
  void turn_off(const std::string& reason, bool loud);
  void fail(const Error& error) noexcept;
};

}  // namespace stowage::session
