#include "plugin/session.h"

#include <exception>
#include <utility>

#include "plugin/notice.h"
#include "plugin/observers.h"
#include "plugin/registry.h"
#include "plugin/session_state.h"

namespace stowage::plugin {
namespace {

constexpr std::uint32_t kAllocationsPerPoll = 16;

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

const char* to_string(SessionState state) {
  switch (state) {
    case SessionState::kRecording:
      return "recording";
    case SessionState::kPlanning:
      return "planning";
    case SessionState::kPlanned:
      return "planned";
    case SessionState::kRescuing:
      return "rescuing";
    case SessionState::kOff:
      return "off";
  }
  return "unknown";
}

Session::State::State(SessionHot& hot, DevicePort& device_port, const Settings& chosen,
                      std::unique_ptr<PlanSource> source)
    : port(device_port),
      settings(chosen),
      info(device_port.describe()),
      budget(chosen.budget, device_port.ledger(), {info.device, info.device_index}, info.device_memory,
             std::chrono::milliseconds(chosen.plan_wait_ms)),
      serving(hot.serving),
      owner(hot.owner),
      recording(hot.recording),
      forked(hot.forked),
      watch_period(hot.watch_period),
      uses(hot.uses),
      plans(std::move(source)) {}

Session::Session(DevicePort& port, const Settings& settings, std::unique_ptr<PlanSource> plans)
    : state_(std::make_unique<State>(hot_, port, settings, std::move(plans))) {
  state_->start_recording();
  state_->budget.begin(/*last_call=*/false);
  add_session(this);
  prepare_observing();  // once the session is known: whatever watches may have stopped for lack of one
}

Session::~Session() {
  remove_session(this);
  stop_and_wait();
}

// ---- allocations and frees that are watched

[[gnu::noinline]] void* Session::try_allocate_watched(Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (state.watch_period.load(std::memory_order_relaxed)) watch_period(bytes, stream);
  allocator::PlannedAllocator* planned = state.serving.load(std::memory_order_acquire);
  allocator::PlannedAllocator* const settling =
      planned == nullptr ? state.settling.load(std::memory_order_acquire) : nullptr;
  if (planned == nullptr && settling == nullptr) return nullptr;
  if (state.uses.any_waiting() &&
      state.polls.fetch_add(1, std::memory_order_relaxed) % kAllocationsPerPoll == 0)
    state.complete_frees();
  void* const address = settling == nullptr ? planned->allocate(bytes, stream)
                                            : state.allocate_settling(*settling, bytes, stream);
  if (address == nullptr) return nullptr;
  if (tracer::Recorder* recorder = state.recording.load(std::memory_order_acquire))
    recorder->on_alloc(address, bytes, round_up(bytes), stream);
  return address;
}

// While nobody else marks iterations, the allocations themselves tell where one begins: just before this
// request.
[[gnu::noinline]] void Session::watch_period(Bytes bytes, StreamId stream) {
  State& state = *state_;
  Bytes live{0};
  if (const allocator::PlannedAllocator* planned = state.serving.load(std::memory_order_acquire)) {
    live = planned->live_bytes();
  } else if (const tracer::Recorder* recorder = state.recording.load(std::memory_order_acquire)) {
    live = recorder->live();
  }
  if (const std::optional<MarkSource> mark = state.periods.on_alloc(round_up(bytes), stream, live))
    on_mark(*mark);
}

void Session::on_upstream_alloc(void* address, Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (address == nullptr || bytes.value() == 0) return;
  tracer::Recorder* recorder = state.recording.load(std::memory_order_acquire);
  // Upstream saw the streams pass before we did: the old free is complete, or it would not hand the address
  // out.
  if (state.uses.any_waiting() && state.uses.forget(address) && recorder)
    recorder->on_free_completed(address);
  if (recorder) recorder->on_alloc(address, bytes, round_up(bytes), stream);
  if (allocator::PlannedAllocator* planned = state.serving.load(std::memory_order_acquire)) {
    const UpstreamUse use = state.port.upstream_use();
    planned->set_outside_bytes(use.allocated);
    state.note_reserved(use.reserved);
  }
}

bool Session::free(void* address) {
  State& state = *state_;
  allocator::PlannedAllocator* owner = state.owner.load(std::memory_order_acquire);
  const bool ours = owner != nullptr && owner->owns(address);
  if (state.forked.load(std::memory_order_relaxed)) return ours;
  tracer::Recorder* recorder = state.recording.load(std::memory_order_acquire);
  if (state.uses.any_noted()) [[unlikely]] {
    const std::vector<StreamId> streams = state.uses.take(address);
    if (!streams.empty()) {
      if (recorder) recorder->on_free_requested(address);
      state.free_later(address, ours, streams);
      return ours;
    }
  }
  if (recorder) recorder->on_free(address);
  if (ours) owner->free(address);
  return ours;
}

[[gnu::noinline]] bool Session::free_block_watched(void* address) {
  if (state_->forked.load(std::memory_order_relaxed)) return true;
  return block_at(address) && free(address);
}

bool Session::owns(const void* address) const noexcept {
  const allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  return owner != nullptr && owner->owns(address);
}

Bytes Session::size_of(const void* address) const {
  const allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  if (owner == nullptr || state_->forked.load(std::memory_order_relaxed)) return Bytes(0);
  return owner->size_of(address);
}

std::optional<allocator::ArenaBlock> Session::block_at(const void* address) const {
  const allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  if (owner == nullptr || state_->forked.load(std::memory_order_relaxed)) return std::nullopt;
  return owner->block_at(address);
}

std::vector<allocator::ArenaBlock> Session::live_blocks() const {
  const allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  if (owner == nullptr || state_->forked.load(std::memory_order_relaxed)) return {};
  return owner->live_blocks();
}

bool Session::record_stream(void* address, StreamId stream) {
  State& state = *state_;
  const bool ours = owns(address);
  if (state.forked.load(std::memory_order_relaxed)) return ours;
  tracer::Recorder* recorder = state.recording.load(std::memory_order_acquire);
  if (recorder) recorder->on_cross_stream_use(address, stream);
  if (ours || recorder) state.uses.note(address, stream);
  return ours;
}

// ---- frees that wait for other streams

void Session::State::free_later(void* address, bool in_arena, const std::vector<StreamId>& streams) {
  StreamUses::Waiting waiting{address, in_arena, {}};
  for (const StreamId stream : streams) waiting.fences.push_back(port.record_fence(stream));
  if (in_arena) {
    allocator::PlannedAllocator* planned_allocator = owner.load(std::memory_order_acquire);
    planned_allocator->hold(address);
    planned_allocator->free(address);
  }
  uses.wait(std::move(waiting));
}

void Session::State::complete_frees() {
  if (!uses.any_waiting()) return;
  tracer::Recorder* recorder = recording.load(std::memory_order_acquire);
  for (const StreamUses::Waiting& done : uses.passed(port)) {
    if (done.address == nullptr) continue;
    if (recorder) recorder->on_free_completed(done.address);
    if (done.in_arena) owner.load(std::memory_order_acquire)->release(done.address);
  }
}

// ---- marks

void Session::on_mark(MarkSource source) {
  State& state = *state_;
  if (state.forked.load(std::memory_order_relaxed) || state.busy.test_and_set(std::memory_order_acquire))
    return;
  try {
    state.end_early_step();
    state.mark(source);
  } catch (const std::exception& error) {
    state.fail({ErrorCode::kInternal, error.what()});
  }
  state.leave();
}

void Session::State::end_early_step() {
  if (!in_early_step.exchange(false, std::memory_order_acq_rel)) return;
  port.part_optimizer_state();
  if (state.load(std::memory_order_relaxed) == SessionState::kPlanned && !plan_left) resume_serving();
}

void Session::State::leave() {
  busy.clear(std::memory_order_release);
  busy.notify_all();
}

void Session::State::mark(MarkSource source) {
  const SessionState now = state.load(std::memory_order_relaxed);
  if (now == SessionState::kOff) {
    complete_frees();
    return give_back_arena();
  }
  if (rank(source) < rank(best_source)) return;
  if (rank(source) > rank(best_source)) {
    best_source = source;
    watch_period.store(false, std::memory_order_relaxed);
    if (now == SessionState::kPlanning || now == SessionState::kPlanned) return back_to_recording();
    if (now == SessionState::kRecording && recorded_marks > 0)
      recorders.back()->clear();  // what was marked otherwise does not mix with what comes
    recorded_marks = 0;
  }
  {
    const std::lock_guard lock(facts_mutex);
    ++facts.iterations;
  }
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
  State& state = *state_;
  if (state.forked.load(std::memory_order_relaxed) || state.busy.test_and_set(std::memory_order_acquire))
    return;
  try {
    state.begin_early_step();
  } catch (const std::exception& error) {
    state.fail({ErrorCode::kInternal, error.what()});
  }
  state.leave();
}

// Optimizer state is born in the first steps and lives for good: let it not settle in pages full of holes,
// nor in an arena that was planned without it (a job may reach its plan before its first step).
void Session::State::begin_early_step() {
  constexpr std::uint64_t kStepsWithNewState = 2;
  const SessionState now = state.load(std::memory_order_relaxed);
  const bool first_steps = ++optimizer_steps <= kStepsWithNewState;
  const bool early = now == SessionState::kRecording ? first_steps || recorded_marks < kStepsWithNewState
                                                     : first_steps && now == SessionState::kPlanned;
  if (!early) return;
  pause_serving();
  port.part_optimizer_state();
  in_early_step.store(true, std::memory_order_release);
}

bool Session::expects_lasting() const noexcept {
  return state_->in_early_step.load(std::memory_order_acquire);
}

// ---- the end

void Session::State::turn_off(const std::string& reason, bool loud) {
  pause_serving();
  watch_period.store(false, std::memory_order_relaxed);
  stop_recording();
  if (plans) plans->cancel();
  const bool rescues = loud && budget.on();
  if (!rescues) budget.end();
  state.store(SessionState::kOff, std::memory_order_release);
  if (loud && !std::exchange(warned, true)) warn(reason + "; the job goes on without a plan");
  {
    const std::lock_guard lock(facts_mutex);
    if (facts.reason.empty()) facts.reason = reason;
  }
  if (!loud) return;
  if (rescues) return begin_rescuing(reason);
  try {
    port.stay_out();
  } catch (const std::exception& error) {
    note(1, std::string("upstream's cache was not released: ") + error.what());
  }
}

bool Session::needs_marks() const noexcept {
  const State& state = *state_;
  return state.state.load(std::memory_order_acquire) != SessionState::kOff ||
         (state.owner.load(std::memory_order_acquire) != nullptr &&
          !state.forked.load(std::memory_order_relaxed));
}

void Session::State::fail(const Error& error) { turn_off(error.message, true); }

void Session::stop() {
  State& state = *state_;
  if (state.forked.load(std::memory_order_relaxed)) return;
  while (state.busy.test_and_set(std::memory_order_acquire)) state.busy.wait(true);
  if (state.state.load() != SessionState::kOff) state.turn_off("stopped on request", false);
  state.leave();
}

void Session::stop_and_wait() {
  stop();
  State& state = *state_;
  if (!state.forked.load(std::memory_order_relaxed)) state.plans.reset();
}

void Session::after_fork() noexcept {
  state_->forked.store(true, std::memory_order_relaxed);
  state_->budget.after_fork();
  state_->watch_period.store(false, std::memory_order_relaxed);
  state_->serving.store(nullptr, std::memory_order_relaxed);
  state_->settling.store(nullptr, std::memory_order_relaxed);
  state_->recording.store(nullptr, std::memory_order_relaxed);
  state_->state.store(SessionState::kOff, std::memory_order_relaxed);
}

// ---- numbers

SessionState Session::state() const { return state_->state.load(std::memory_order_acquire); }

const TraceInfo& Session::info() const { return state_->info; }

Bytes Session::arena_bytes() const {
  const allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  return owner == nullptr ? Bytes(0) : owner->arena().mapped();
}

Bytes Session::arena_live_bytes() const {
  const allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  const bool readable = owner != nullptr && !state_->forked.load(std::memory_order_relaxed);
  return readable ? owner->live_bytes() : Bytes(0);
}

Bytes Session::peak_bytes() const {
  const allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  const bool readable = owner != nullptr && !state_->forked.load(std::memory_order_relaxed);
  return readable ? owner->peak_bytes() : Bytes(0);
}

void Session::reset_peak() {
  allocator::PlannedAllocator* owner = state_->owner.load(std::memory_order_acquire);
  if (owner != nullptr && !state_->forked.load(std::memory_order_relaxed)) owner->reset_peak();
}

}  // namespace stowage::plugin
