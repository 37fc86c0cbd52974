// What a session gives up for a request when memory is short.
#include <string>

#include "session/registry.h"
#include "session/session_state.h"

namespace stowage::session {

namespace {

// A request that would fail otherwise waits for a mark of another thread, which soon returns, on a busy
// machine too. While this thread recomputes, that mark may wait for the runtime, which this thread has.
constexpr std::chrono::milliseconds kPatience(5000);
constexpr std::chrono::milliseconds kPatienceWithRuntime(100);
constexpr std::chrono::milliseconds kNoWait(0);

Bytes idle_in_arena(const Session& session) {
  return saturating_sub(session.arena_bytes(), session.arena_live_bytes());
}

}  // namespace

// ---- under a budget

void Session::guards_placed() {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed) || !state.conductor.try_lock())
    return;  // the next mark begins it
  state.budget.begin(/*last_call=*/true);
  state.conductor.unlock();
}

// The session may be gone by then.
void Session::State::watch_device(Bytes bytes, bool shows_peak) {
  if (!budget.nears_end(bytes) && !budget.may_leave(bytes, shows_peak)) return;
  torch.call_between_ops([this] {
    for (Session* const session : all_sessions()) {
      if (session->state_.get() == this) session->between_ops();
    }
  });
}

void Session::between_ops() {
  state_->conduct([this] {
    state_->budget.leave();
    state_->join_budget();
  });
}

// A plan is for iterations in which nothing is evicted.
void Session::State::join_budget() {
  if (state.load(std::memory_order_relaxed) == SessionState::kOff || !budget.join()) return;
  if (opening.is_on()) return leave_opening_inside();
  if (is_past_recording()) transition(SessionState::kRecording, "the device is nearly full");
}

// At a mark the runtime restores what is evicted: then this thread conducts.
bool Session::State::give_up_arena(Bytes bytes, std::chrono::milliseconds patience) {
  if (!arena.exists()) return false;
  const bool conducts = conductor.is_mine();
  if (!conducts && !conductor.try_lock_for(patience)) return false;
  const bool gave = arena.exists() && under_budget.give_up_free_parts(bytes);
  if (!conducts) conductor.unlock();
  return gave;
}

std::chrono::milliseconds Session::State::patience() const {
  return budget.recomputes() ? kPatienceWithRuntime : kPatience;
}

// Others may wait for a thread that conducts.
bool Session::State::await_others(Bytes bytes, bool refused) {
  return !conductor.is_mine() && budget.await_others(bytes, refused);
}

bool Session::has_budget() const { return state_->budget.on(); }

bool Session::make_room(Bytes bytes) {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed)) return true;
  const bool gives_at_once = state.under_budget.evicts() && state.arena.gives_quickly();
  if (gives_at_once && state.give_up_arena(bytes, kNoWait)) return true;
  if (state.budget.make_room(bytes) || state.give_up_arena(bytes, state.patience())) return true;
  if (state.port.ledger()->missing(bytes).value() == 0) return true;
  return state.await_others(bytes, /*refused=*/false) || state.budget.follow_peak(bytes);
}

bool Session::make_contiguous_room_upstream(Bytes bytes, const FreeSpace& space) {
  State& state = *state_;
  return !state.hot.forked.load(std::memory_order_relaxed) && state.budget.make_contiguous_room(bytes, space);
}

bool Session::make_room_upstream(Bytes bytes) {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed)) return false;
  if (state.budget.make_more_room(bytes)) return true;
  finish_frees();
  return state.give_up_arena(bytes, state.patience()) || state.await_others(bytes, /*refused=*/true) ||
         state.budget.follow_peak(bytes);
}

std::optional<Bytes> Session::most_room() const {
  State& state = *state_;
  if (!state.budget.on()) return std::nullopt;
  return state.budget.most_room(idle_in_arena(*this) + state.port.upstream_use().cached());
}

std::string Session::explain_shortage(Bytes bytes, Bytes workspaces) const {
  State& state = *state_;
  return state.budget.explain({.wanted = bytes,
                               .idle_arena = idle_in_arena(*this),
                               .cached = state.port.upstream_use().cached(),
                               .workspaces = workspaces});
}

std::string Session::explain_unseen_shortage() {
  State& state = *state_;
  if (state.hot.forked.load(std::memory_order_relaxed) || !state.budget.is_armed()) return {};
  state.watch_device(state.info.device_memory, /*shows_peak=*/false);
  return "the device got full before the job's ops were seen, so nothing could be evicted; with "
         "STOWAGE_BUDGET=95%device they are seen from the first allocation on";
}

// ---- without one

void Session::before_upstream_alloc(Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (state.port.commits_on_touch()) return;
  if (state.hot.serving.load(std::memory_order_acquire) != nullptr) {
    return state.conduct([&] {
      if (state.hot.serving.load() != nullptr) state.room.for_upstream(bytes, stream);
    });
  }
  const SessionState now = state.state.load(std::memory_order_relaxed);
  const bool unplanned = now == SessionState::kRecording || now == SessionState::kPlanning;
  if (unplanned && !state.budget.on()) state.room.keep_peak_low(bytes);
}

void Session::give_back_idle() {
  finish_frees();
  state_->conduct([&state = *state_] {
    const SessionState now = state.state.load();
    if (now != SessionState::kPlanned && now != SessionState::kOnline) return state.arena.give_back();
    state.arena.shrink_former_now();
    if (state.arena.exists()) state.arena.give_back_idle();  // what serves keeps its addresses
  });
}

}  // namespace stowage::session
