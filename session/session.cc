#include "session/session.h"

#include <exception>
#include <utility>

#include "session/registry.h"
#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

// Period marks count until an optimizer is seen, and both until the user marks iterations himself.
int rank(MarkSource source) {
  switch (source) {
    case MarkSource::kPeriod:
      return 0;
    case MarkSource::kOptimizer:
      return 1;
    case MarkSource::kUser:
      return 2;
  }
  return 0;
}

}  // namespace

Session::State::State(SessionHot& hot_path, DevicePort& device_port, TorchPort& torch_port,
                      const Settings& chosen, std::unique_ptr<PlanSource> source)
    : port(device_port),
      torch(torch_port),
      settings(chosen),
      info(device_port.describe()),
      budget(chosen.budget, device_port.ledger(), torch_port, info.device, info.device_memory,
             std::chrono::milliseconds(chosen.plan_wait_ms)),
      hot(hot_path),
      arena(hot, port, budget, settings.fault),
      guard(port, info, budget, arena, facts),
      room(port, arena, guard),
      recording(hot.recorder, port, torch, info, settings),
      learner(recording),
      plans(settings, info, std::move(source)) {}

Session::Session(DevicePort& port, TorchPort& torch, const Settings& settings,
                 std::unique_ptr<PlanSource> plans)
    : state_(std::make_unique<State>(hot_, port, torch, settings, std::move(plans))) {
  state_->start_recording();
  state_->budget.begin(/*last_call=*/false);
  add_session(this);
  torch.watch_steps();  // once the session is known: whatever watches may have stopped for lack of one
}

Session::~Session() {
  remove_session(this);
  stop_and_wait();
}

// ---- marks

void Session::on_mark(MarkSource source) {
  state_->conduct([this, source] {
    state_->end_early_step();
    state_->mark(source);
  });
}

void Session::State::end_early_step() {
  if (!in_early_step.exchange(false, std::memory_order_acq_rel)) return;
  part_state(/*begins=*/false);
  if (state.load(std::memory_order_relaxed) == SessionState::kPlanned && !plan_left) arena.resume();
}

void Session::State::leave() {
  busy.clear(std::memory_order_release);
  busy.notify_all();
}

void Session::State::mark(MarkSource source) {
  const SessionState now = state.load(std::memory_order_relaxed);
  if (now == SessionState::kOff) {
    complete_frees();
    return arena.give_back();
  }
  if (rank(source) < rank(best_source)) return;
  if (rank(source) > rank(best_source)) {
    best_source = source;
    hot.watch_period.store(false, std::memory_order_relaxed);
    if (now == SessionState::kPlanning || now == SessionState::kPlanned) return back_to_recording();
    if (now == SessionState::kRecording && recording.marks() > 0)
      recording.forget();  // what was marked otherwise does not mix with what comes
  }
  facts.count_iteration();
  complete_frees();
  const bool evicted = mark_under_budget(source);
  if (evicted && now == SessionState::kRecording) return;
  switch (now) {
    case SessionState::kRecording:
      return recording_mark(source);
    case SessionState::kPlanning:
      return planning_mark();
    case SessionState::kPlanned:
      return planned_mark(source);
    case SessionState::kRescuing:
      return rescuing_mark(evicted);
    case SessionState::kOff:
      return;
  }
}

void Session::on_optimizer_begin() {
  state_->conduct([this] { state_->begin_early_step(); });
}

void Session::on_optimizer_end() {
  if (!expects_lasting()) return;
  state_->conduct([this] { state_->end_early_step(); });
}

// Optimizer state is born in the first steps and lives for good: let it not settle in pages full of holes,
// nor in an arena that was planned without it (a job may reach its plan before its first step).
void Session::State::begin_early_step() {
  constexpr std::uint64_t kStepsWithNewState = 2;
  const SessionState now = state.load(std::memory_order_relaxed);
  const bool first_steps = ++optimizer_steps <= kStepsWithNewState;
  const bool early = now == SessionState::kRecording ? first_steps || recording.marks() < kStepsWithNewState
                                                     : first_steps && now == SessionState::kPlanned;
  if (!early) return;
  arena.pause();
  part_state(/*begins=*/true);
  in_early_step.store(true, std::memory_order_release);
}

// It may synchronise: of hundreds of optimizers only the first ones do.
void Session::State::part_state(bool begins) {
  constexpr std::uint64_t kMostParted = 32;
  if (optimizer_steps <= kMostParted) port.part_optimizer_state(begins);
}

bool Session::expects_lasting() const noexcept {
  return state_->in_early_step.load(std::memory_order_acquire);
}

// ---- the end

void Session::State::turn_off(const std::string& reason, bool loud) {
  arena.pause();
  hot.watch_period.store(false, std::memory_order_relaxed);
  recording.stop();
  plans.cancel();
  const bool rescues = loud && budget.on() && state.load() != SessionState::kOff;
  if (!rescues) budget.end();
  if (loud && !std::exchange(warned, true)) warn(reason + "; the job goes on without a plan");
  facts.give_reason(reason);
  if (rescues) return begin_rescuing(reason);
  state.change(SessionState::kOff, reason);
  if (!loud) return;
  try {
    arena.give_back();
    port.stay_out();
  } catch (const std::exception& error) {
    note(1, std::string("upstream's cache was not released: ") + error.what());
  }
}

bool Session::needs_marks() const noexcept {
  const State& state = *state_;
  return state.state.load(std::memory_order_acquire) != SessionState::kOff ||
         ((state.arena.exists() || state.hot.former.any()) &&
          !state.hot.forked.load(std::memory_order_relaxed));
}

void Session::State::fail(const Error& error) noexcept try {
  turn_off(error.message, true);
} catch (const std::exception& second) {  // nothing is left to try
  arena.pause();
  warn(error.message + ", and then: " + second.what() + "; the job goes on without a plan");
  state.force(SessionState::kOff);
}

void Session::stop() {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed)) return;
  while (state.busy.test_and_set(std::memory_order_acquire)) state.busy.wait(true);
  if (state.state.load() != SessionState::kOff) state.turn_off("stopped on request", false);
  state.leave();
}

void Session::stop_and_wait() {
  stop();
  State& state = *state_;
  if (!state.hot.forked.load(std::memory_order_relaxed)) state.plans.end();
}

void Session::after_fork() noexcept {
  state_->hot.forked.store(true, std::memory_order_relaxed);
  state_->budget.after_fork();
  state_->hot.watch_period.store(false, std::memory_order_relaxed);
  state_->arena.after_fork();
  state_->hot.recorder.store(nullptr, std::memory_order_relaxed);
  state_->state.force(SessionState::kOff);
}

}  // namespace stowage::session
