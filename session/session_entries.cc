// Entry points for adaptors that are off the fast path, for more than the plan: allocations, frees and
// optimizer steps.
#include <optional>
#include <utility>
#include <vector>

#include "session/session_state.h"

namespace stowage::session {
namespace {

constexpr std::uint32_t kAllocationsPerPoll = 16;

}  // namespace

// ---- allocations

[[gnu::noinline]] void* Session::try_allocate_watched(Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (state.hot.watch_period.load(std::memory_order_relaxed)) watch_period(bytes, stream);
  if (state.may_begin_planned.load(std::memory_order_relaxed)) [[unlikely]]
    state.begin_at_first_allocation();
  if (state.hot.uses.any_in_arena()) state.frees.complete();  // as native does before every allocation
  allocator::PlannedAllocator* planned = state.hot.serving.load(std::memory_order_acquire);
  allocator::PlannedAllocator* const settling = planned == nullptr ? state.arena.settling() : nullptr;
  if (planned == nullptr && settling == nullptr) return nullptr;
  if (state.hot.uses.any_waiting() &&
      state.polls.fetch_add(1, std::memory_order_relaxed) % kAllocationsPerPoll == 0)
    state.frees.complete();
  if (planned != nullptr && state.hot.thin.load(std::memory_order_relaxed)) {
    const Bytes lacking = state.room.for_arena(*planned, bytes, stream);
    if (lacking.value() != 0) {
      state.conduct([&] { state.room.give_up_idle_for(lacking); });
      state.room.look_again(*planned, bytes, stream);
    }
  }
  void* const address = settling != nullptr ? state.arena.allocate_settling(*settling, bytes, stream)
                        : state.hot.uses.upstream_owes() ? planned->allocate_as_planned(bytes, stream)
                                                         : planned->allocate(bytes, stream);
  if (state.opening.is_on() && state.opening.leaves_at_request()) [[unlikely]]
    state.conduct([&] { state.leave_opening_inside(); });
  if (address == nullptr) return nullptr;
  if (tracer::Recorder* recorder = state.hot.recorder.load(std::memory_order_acquire))
    recorder->on_alloc(address, bytes, round_up(bytes), stream);
  if (state.hot.metered.load(std::memory_order_relaxed))
    state.port.on_arena_use(static_cast<std::int64_t>(round_up(bytes).value()));
  if (state.hot.history.load(std::memory_order_relaxed))
    state.port.on_block(BlockEvent::kAllocated, address, bytes, stream);
  return address;
}

// Without other marks, the allocations themselves show where an iteration begins: just before this
// request.
[[gnu::noinline]] void Session::watch_period(Bytes bytes, StreamId stream) {
  State& state = *state_;
  Bytes live{0};
  if (const allocator::PlannedAllocator* planned = state.hot.serving.load(std::memory_order_acquire)) {
    live = planned->live_bytes();
  } else if (const tracer::Recorder* recorder = state.hot.recorder.load(std::memory_order_acquire)) {
    live = recorder->live();
  }
  if (const std::optional<MarkSource> mark = state.periods.on_alloc(round_up(bytes), stream, live))
    on_mark(*mark);
  if (state.unmarked.on_alloc(live)) [[unlikely]]
    state.conduct([&] { state.unmarked_for_long(); });
}

void Session::on_upstream_alloc(void* address, Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (address == nullptr || bytes.value() == 0) return;
  state.hot.uses.upstream_looked();
  tracer::Recorder* recorder = state.hot.recorder.load(std::memory_order_acquire);
  // Upstream saw the streams pass before we did: it reuses the address, so the old free is
  // complete.
  if (state.hot.uses.any_waiting() && state.hot.uses.forget(address) && recorder)
    recorder->on_free_completed(address);
  if (recorder) recorder->on_alloc(address, bytes, round_up(bytes), stream);
  // Marked iterations show the job's peak, or else the allocations.
  const bool shows_peak = recorder && state.budget.wants_peak() && state.peaks.on_alloc(recorder->live());
  state.watch_device(bytes, shows_peak);
  if (shows_peak && state.budget.pending()) [[unlikely]]
    state.conduct([&] { state.budget.believe_peak(); });
  if (allocator::PlannedAllocator* planned = state.hot.serving.load(std::memory_order_acquire)) {
    const UpstreamUse use = state.port.upstream_use();
    planned->set_outside_bytes(state.arena.outside_bytes(use));
    state.guard.note_reserved(use.reserved);
  }
}

// ---- frees

bool Session::free(void* address) {
  return state_->hot.forked.load(std::memory_order_relaxed) ? owns(address) : state_->frees.free(address);
}

[[gnu::noinline]] bool Session::free_block_watched(void* address) {
  if (state_->hot.forked.load(std::memory_order_relaxed)) return true;
  return block_at(address) && free(address);
}

allocator::PlannedAllocator* Session::owner_of(const void* address) const noexcept {
  return state_->arena.owner_of(address);
}

bool Session::owns(const void* address) const noexcept { return owner_of(address) != nullptr; }

Bytes Session::size_of(const void* address) const {
  const allocator::PlannedAllocator* owner = owner_of(address);
  if (owner == nullptr || state_->hot.forked.load(std::memory_order_relaxed)) return Bytes(0);
  return owner->size_of(address);
}

std::optional<allocator::ArenaBlock> Session::block_at(const void* address) const {
  const allocator::PlannedAllocator* owner = owner_of(address);
  if (owner == nullptr || state_->hot.forked.load(std::memory_order_relaxed)) return std::nullopt;
  return owner->block_at(address);
}

std::vector<allocator::ArenaBlock> Session::active_blocks(const void* address) const {
  const allocator::PlannedAllocator* owner = owner_of(address);
  if (owner == nullptr || state_->hot.forked.load(std::memory_order_relaxed)) return {};
  return owner->active_blocks();
}

bool Session::record_stream(void* address, StreamId stream) {
  State& state = *state_;
  const bool ours = owns(address);
  if (state.hot.forked.load(std::memory_order_relaxed)) return ours;
  tracer::Recorder* recorder = state.hot.recorder.load(std::memory_order_acquire);
  if (recorder) recorder->on_cross_stream_use(address, stream);
  const bool serves = state.hot.serving.load(std::memory_order_relaxed) != nullptr;
  if (ours || recorder || serves) state.hot.uses.note(address, stream);
  return ours;
}

void Session::on_set_aside(const void* address, std::uint64_t id) {
  if (tracer::Recorder* const recorder = hot_.recorder.load(std::memory_order_acquire))
    recorder->on_set_aside(address, id);
}

void Session::on_brought_back(const void* address, std::uint64_t id) {
  if (tracer::Recorder* const recorder = hot_.recorder.load(std::memory_order_acquire))
    recorder->on_brought_back(address, id);
}

void Session::on_aside_gone(std::uint64_t id) {
  if (tracer::Recorder* const recorder = hot_.recorder.load(std::memory_order_acquire))
    recorder->on_aside_gone(id);
}

void Session::watch_blocks(bool wanted) { state_->hot.history.store(wanted, std::memory_order_relaxed); }

void Session::finish_frees() {
  if (!state_->hot.forked.load(std::memory_order_relaxed)) state_->frees.finish();
}

// ---- optimizer steps

void Session::on_optimizer_begin() {
  state_->conduct([this] {
    state_->early_steps.begin(state_->state.load(std::memory_order_relaxed), state_->recording.marks(),
                              state_->plans.began_planned());
  });
}

void Session::on_optimizer_end() {
  if (expects_lasting()) state_->conduct([this] { state_->end_early_step(); });
}

bool Session::expects_lasting() const noexcept { return state_->early_steps.inside(); }

bool Session::expects_parameters() const {
  const tracer::Recorder* const recorder = hot_.recorder.load(std::memory_order_acquire);
  return recorder != nullptr && recorder->only_grew();
}

}  // namespace stowage::session
