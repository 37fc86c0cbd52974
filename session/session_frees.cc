// Frees: what the port hears of them, and those that wait for other streams.
#include <optional>
#include <utility>

#include "session/session_state.h"

namespace stowage::plugin {

bool Session::record_stream(void* address, StreamId stream) {
  State& state = *state_;
  const bool ours = owns(address);
  if (state.forked.load(std::memory_order_relaxed)) return ours;
  tracer::Recorder* recorder = state.recorder.load(std::memory_order_acquire);
  if (recorder) recorder->on_cross_stream_use(address, stream);
  if (ours || recorder) state.uses.note(address, stream);
  return ours;
}

// Before the block is free: afterwards its address may be another's.
void Session::State::tell_of_free(void* address, bool completed) {
  if (!history.load(std::memory_order_relaxed)) return;
  const std::optional<allocator::ArenaBlock> block = arena.owner_of(address)->block_at(address);
  if (!block) return;
  port.on_block(BlockEvent::kFreeRequested, address, block->requested, block->stream);
  if (completed) port.on_block(BlockEvent::kFreeCompleted, address, block->requested, block->stream);
}

void Session::watch_blocks(bool wanted) { state_->history.store(wanted, std::memory_order_relaxed); }

void Session::State::free_later(void* address, bool in_arena, const std::vector<StreamId>& streams) {
  StreamUses::Waiting waiting{address, in_arena, {}};
  for (const StreamId stream : streams) waiting.fences.push_back({stream, port.record_fence(stream)});
  if (in_arena) {
    allocator::PlannedAllocator* const whose = arena.owner_of(address);
    whose->hold(address);
    whose->free(address);
  }
  uses.wait(std::move(waiting));
}

void Session::finish_frees() {
  if (state_->forked.load(std::memory_order_relaxed)) return;
  for (const std::uint64_t fence : state_->uses.arena_fences()) state_->port.wait_for_fence(fence);
  state_->complete_frees();
}

void Session::State::complete_frees() {
  if (!uses.any_waiting()) return;
  tracer::Recorder* const now = recorder.load(std::memory_order_acquire);
  for (const StreamUses::Waiting& done : uses.passed(port)) {
    if (done.address == nullptr) continue;
    if (now != nullptr) now->on_free_completed(done.address);
    if (!done.in_arena) continue;
    if (history.load(std::memory_order_relaxed))
      port.on_block(BlockEvent::kFreeCompleted, done.address, Bytes(0), StreamId(0));
    arena.owner_of(done.address)->release(done.address);
  }
}

}  // namespace stowage::plugin
