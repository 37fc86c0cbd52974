// A session's beginning and end.
#include <exception>
#include <string>

#include "session/registry.h"
#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::session {

Session::Session(DevicePort& port, TorchPort& torch, const Settings& settings,
                 std::unique_ptr<PlanSource> plans)
    : state_(std::make_unique<State>(hot_, port, torch, settings, std::move(plans))) {
  state_->facts.note_phase(to_string(SessionState::kRecording));
  state_->start_recording();
  state_->budget.begin(/*last_call=*/false);
  add_session(this);
  torch.watch_steps();  // after registration: watching may have
                        // stopped for lack of one
}

Session::~Session() {
  remove_session(this);
  stop_and_wait();
}

// ---- the end

bool Session::needs_marks() const noexcept {
  if (state_->state.load(std::memory_order_acquire) != SessionState::kOff) return true;
  return (state_->arena.exists() || hot_.former.any()) && !hot_.forked.load(std::memory_order_relaxed);
}

void Session::stop() {
  State& state = *state_;
  if (hot_.forked.load(std::memory_order_relaxed)) return;
  state.conductor.lock();
  if (state.state.load() != SessionState::kOff) state.turn_off("stopped on request", false);
  state.conductor.unlock();
}

void Session::stop_and_wait() {
  state_->finish_next_run();
  stop();
  if (!hot_.forked.load(std::memory_order_relaxed)) state_->plans.end();
}

void Session::State::finish_next_run() noexcept try {
  if (hot.forked.load(std::memory_order_relaxed)) return;
  conductor.lock();
  const bool planned_now = state.load() == SessionState::kPlanned;
  if (planned_now && !opening.is_on() && !budget.on()) next_run.finish();
  conductor.unlock();
} catch (const std::exception& error) {
  conductor.unlock();
  note(1, std::string("the next run will not begin planned: ") + error.what());
}

void Session::after_fork() noexcept {
  hot_.forked.store(true, std::memory_order_relaxed);
  state_->budget.after_fork();
  hot_.watch_period.store(false, std::memory_order_relaxed);
  state_->arena.after_fork();
  hot_.recorder.store(nullptr, std::memory_order_relaxed);
  state_->state.force(SessionState::kOff);
}

}  // namespace stowage::session
