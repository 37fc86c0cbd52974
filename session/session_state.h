// What a session remembers. Only session*.cc include this.
//
// Three kinds of data: atomics for the hot path; the conductor's own, touched only by the thread that holds
// `busy` (a mark that arrives while another thread is inside one is the same mark, and is dropped); and facts
// for the report, which have a lock of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/arena/served_arena.h"
#include "session/budget/budget_controller.h"
#include "session/budget/peak_watch.h"
#include "session/facts/session_facts.h"
#include "session/planned/outstayed_watch.h"
#include "session/plans/plan_book.h"
#include "session/recording/learner.h"
#include "session/recording/recording.h"
#include "session/reserved/device_room.h"
#include "session/reserved/reserved_guard.h"
#include "session/session.h"
#include "tracer/recorder/period_detector.h"

namespace stowage::session {

struct Session::State {
  State(SessionHot& hot_path, DevicePort& device_port, TorchPort& torch_port, const Settings& chosen,
        std::unique_ptr<PlanSource> source);

  // ---- fixed
  DevicePort& port;
  TorchPort& torch;
  const Settings settings;
  const TraceInfo info;
  BudgetController budget;

  // ---- hot path
  SessionHot& hot;

  // ---- other shared data
  ServedArena arena;
  SessionFacts facts;
  ReservedGuard guard;
  DeviceRoom room;
  StateMachine<SessionState> state{"session", SessionState::kRecording, session_arcs()};
  std::atomic<bool> scheduled{
      false};  ///< the plan, or the one being made, is for iterations under a schedule
  std::atomic<bool> in_early_step{false};  ///< an optimizer step that probably makes its state
  std::atomic<std::uint32_t> polls{0};
  tracer::PeriodDetector periods;
  PeakWatch peaks;

  // ---- the conductor's
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  MarkSource best_source = MarkSource::kPeriod;
  bool warned = false;
  std::uint64_t optimizer_steps = 0;  ///< all that began
  std::uint32_t window_marks = 1;     ///< marks of the planned window
  std::uint64_t marks_since_window = 0;
  std::optional<Result<Plan>> put_off;  ///< made, and a graph's capture kept it from its arena
  Recording recording;
  Learner learner;
  PlanBook plans;
  std::uint64_t requests_before = 0;   ///< requests served when the last iteration ended
  std::uint64_t requests_at_mark = 0;  ///< and at the last mark
  std::uint64_t diverged_streak = 0;
  OutstayedWatch outstayed;
  Bytes reserved_clean{0};  ///< by arena and upstream in the last iteration without a miss
  // under a budget
  std::uint64_t evicting_marks = 0;  ///< iterations with evictions since recording began
  std::uint64_t calm_marks = 0;      ///< iterations without, in a row, while rescuing
  bool plan_left = false;            ///< part of the arena was given up for a request that did not fit

  // session.cc
  void turn_off(const std::string& reason, bool loud);
  void fail(const Error& error) noexcept;
  /// Runs `work` as the conductor; a failure turns the session off. Defined below.
  template <class Work>
  void conduct(Work work);
  void mark(MarkSource source);
  void begin_early_step();
  void end_early_step();
  void part_state(bool begins);
  void leave();
  // session_entries.cc
  void tell_of_free(void* address, bool completed);
  void free_later(void* address, bool in_arena, const std::vector<StreamId>& streams);
  void complete_frees();
  // session_budget.cc
  void watch_peak(Bytes live);
  bool mark_under_budget(MarkSource source);
  void begin_rescuing(const std::string& reason);
  void rescuing_mark(bool evicted);
  bool refuse_plan(const Plan& plan);
  void refuse_arena(Bytes arena_bytes, Bytes excess);
  // session_arena.cc
  bool settle();
  void leave_unsettled();
  bool grow_budget();
  void rest_under_plan();
  [[nodiscard]] bool evicts_under_plan() const;
  bool give_up_free_arena();
  void give_back_unused();
  // session_reserved.cc
  bool refuse_oversized(const Plan& plan);
  bool leave_oversized(bool clean);
  void give_up_plan(const ReservedGuard::Excess& excess);
  void keep_peak_low(Bytes bytes);
  void make_room_for_arena(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream);
  // session_exchange.cc
  void watch_outstayed(bool clean, Bytes reserved);
  [[nodiscard]] bool may_exchange() const;
  void exchange_arena();
  // session_recording.cc
  void start_recording();
  void recording_mark(MarkSource source);
  void begin_planning();
  void planning_mark();
  bool adopt_cached_plan();
  void adopt(Plan plan);
  void note_before();
  void note_peak_before(const Trace& trace, Tick begin, Tick end);
  // session_planned.cc
  void planned_mark(MarkSource source);
  void end_iteration();
  void make_lower(const Plan& plan);
  void take_lower_plan();
  void take_further_plan(std::chrono::milliseconds wait);
  void begin_learning();
  void plan_beside(Trace trace);
  void back_to_recording();
};

// Nothing happens where another thread conducts, nor inside a graph's capture: nothing can be switched there,
// and what is captured is no iteration of the job's.
template <class Work>
void Session::State::conduct(Work work) {
  if (hot.forked.load(std::memory_order_relaxed) || !port.may_wait()) return;
  if (busy.test_and_set(std::memory_order_acquire)) return;
  try {
    work();
  } catch (const std::exception& error) {
    fail({ErrorCode::kInternal, error.what()});
  }
  leave();
}

}  // namespace stowage::session
