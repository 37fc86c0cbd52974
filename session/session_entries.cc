// What an adaptor tells a session, where it has to do with more than the plan: allocations, frees, and those
// frees that wait for other streams.
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
  if (state.hot.uses.any_in_arena()) state.complete_frees();  // as native does before every allocation
  allocator::PlannedAllocator* planned = state.hot.serving.load(std::memory_order_acquire);
  allocator::PlannedAllocator* const settling = planned == nullptr ? state.arena.settling() : nullptr;
  if (planned == nullptr && settling == nullptr) return nullptr;
  if (state.hot.uses.any_waiting() &&
      state.polls.fetch_add(1, std::memory_order_relaxed) % kAllocationsPerPoll == 0)
    state.complete_frees();
  if (planned != nullptr && state.hot.thin.load(std::memory_order_relaxed))
    state.make_room_for_arena(*planned, bytes, stream);
  void* const address = settling == nullptr ? planned->allocate(bytes, stream)
                                            : state.arena.allocate_settling(*settling, bytes, stream);
  if (address == nullptr) return nullptr;
  if (tracer::Recorder* recorder = state.hot.recorder.load(std::memory_order_acquire))
    recorder->on_alloc(address, bytes, round_up(bytes), stream);
  if (state.hot.history.load(std::memory_order_relaxed))
    state.port.on_block(BlockEvent::kAllocated, address, bytes, stream);
  return address;
}

// While nobody else marks iterations, the allocations themselves tell where one begins: just before this
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
}

void Session::on_upstream_alloc(void* address, Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (address == nullptr || bytes.value() == 0) return;
  tracer::Recorder* recorder = state.hot.recorder.load(std::memory_order_acquire);
  // Upstream saw the streams pass before we did: the old free is complete, or it would not hand the address
  // out.
  if (state.hot.uses.any_waiting() && state.hot.uses.forget(address) && recorder)
    recorder->on_free_completed(address);
  if (recorder) recorder->on_alloc(address, bytes, round_up(bytes), stream);
  if (recorder && state.budget.pending()) [[unlikely]]
    state.watch_peak(recorder->live());
  if (allocator::PlannedAllocator* planned = state.hot.serving.load(std::memory_order_acquire)) {
    const UpstreamUse use = state.port.upstream_use();
    planned->set_outside_bytes(state.arena.outside_bytes(use));
    state.guard.note_reserved(use.reserved);
  }
}

// ---- frees

bool Session::free(void* address) {
  State& state = *state_;
  allocator::PlannedAllocator* owner = owner_of(address);
  const bool ours = owner != nullptr;
  if (state.hot.forked.load(std::memory_order_relaxed)) return ours;
  tracer::Recorder* recorder = state.hot.recorder.load(std::memory_order_acquire);
  if (state.hot.uses.any_noted()) [[unlikely]] {
    const std::vector<StreamId> streams = state.hot.uses.take(address);
    if (!streams.empty()) {
      if (recorder) recorder->on_free_requested(address);
      if (ours) state.tell_of_free(address, /*completed=*/false);
      state.free_later(address, ours, streams);
      return ours;
    }
  }
  if (recorder) recorder->on_free(address);
  if (!ours) return false;
  state.tell_of_free(address, /*completed=*/true);
  owner->free(address);
  return true;
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
  if (ours || recorder) state.hot.uses.note(address, stream);
  return ours;
}

// Before the block is free: afterwards its address may be another's.
void Session::State::tell_of_free(void* address, bool completed) {
  if (!hot.history.load(std::memory_order_relaxed)) return;
  const std::optional<allocator::ArenaBlock> block = arena.owner_of(address)->block_at(address);
  if (!block) return;
  port.on_block(BlockEvent::kFreeRequested, address, block->requested, block->stream);
  if (completed) port.on_block(BlockEvent::kFreeCompleted, address, block->requested, block->stream);
}

void Session::watch_blocks(bool wanted) { state_->hot.history.store(wanted, std::memory_order_relaxed); }

void Session::State::free_later(void* address, bool in_arena, const std::vector<StreamId>& streams) {
  StreamUses::Waiting waiting{address, in_arena, {}};
  for (const StreamId stream : streams) waiting.fences.push_back({stream, port.record_fence(stream)});
  if (in_arena) {
    allocator::PlannedAllocator* const whose = arena.owner_of(address);
    whose->hold(address);
    whose->free(address);
  }
  hot.uses.wait(std::move(waiting));
}

void Session::finish_frees() {
  if (state_->hot.forked.load(std::memory_order_relaxed)) return;
  for (const std::uint64_t fence : state_->hot.uses.arena_fences()) state_->port.wait_for_fence(fence);
  state_->complete_frees();
}

void Session::State::complete_frees() {
  if (!hot.uses.any_waiting()) return;
  tracer::Recorder* const now = hot.recorder.load(std::memory_order_acquire);
  for (const StreamUses::Waiting& done : hot.uses.passed(port)) {
    if (done.address == nullptr) continue;
    if (now != nullptr) now->on_free_completed(done.address);
    if (!done.in_arena) continue;
    if (hot.history.load(std::memory_order_relaxed))
      port.on_block(BlockEvent::kFreeCompleted, done.address, Bytes(0), StreamId(0));
    arena.owner_of(done.address)->release(done.address);
  }
}

}  // namespace stowage::session
