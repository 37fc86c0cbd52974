#include "session/arena/frees.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "tracer/recorder/recorder.h"

namespace stowage::session {

bool Frees::free(void* address) {
  allocator::PlannedAllocator* const owner = arena_.owner_of(address);
  const bool ours = owner != nullptr;
  tracer::Recorder* const recorder = hot_.recorder.load(std::memory_order_acquire);
  if (hot_.uses.any_noted()) [[unlikely]] {
    const std::vector<StreamId> streams = hot_.uses.take(address);
    if (!streams.empty()) {
      if (recorder) recorder->on_free_requested(address);
      if (ours) meter(address), tell(address, /*completed=*/false);
      free_later(address, ours, streams);
      return ours;
    }
  }
  if (recorder) recorder->on_free(address);
  if (!ours) return false;
  meter(address);
  tell(address, /*completed=*/true);
  owner->free(address);
  return true;
}

void Frees::meter(void* address) {
  if (!hot_.metered.load(std::memory_order_relaxed)) return;
  const std::optional<allocator::ArenaBlock> block = arena_.owner_of(address)->block_at(address);
  if (block) port_.on_arena_use(-static_cast<std::int64_t>(round_up(block->requested).value()));
}

// Runs before the block is free: afterwards another thread may get its address.
void Frees::tell(void* address, bool completed) {
  if (!hot_.history.load(std::memory_order_relaxed)) return;
  const std::optional<allocator::ArenaBlock> block = arena_.owner_of(address)->block_at(address);
  if (!block) return;
  port_.on_block(BlockEvent::kFreeRequested, address, block->requested, block->stream);
  if (completed) port_.on_block(BlockEvent::kFreeCompleted, address, block->requested, block->stream);
}

void Frees::free_later(void* address, bool in_arena, const std::vector<StreamId>& streams) {
  StreamUses::Waiting waiting{address, in_arena, {}};
  for (const StreamId stream : streams) waiting.fences.push_back({stream, port_.record_fence(stream)});
  if (in_arena) {
    allocator::PlannedAllocator* const whose = arena_.owner_of(address);
    whose->hold(address);
    whose->free(address);
  }
  hot_.uses.wait(std::move(waiting));
}

void Frees::finish() {
  for (const std::uint64_t fence : hot_.uses.arena_fences()) port_.wait_for_fence(fence);
  complete();
}

void Frees::complete() {
  if (!hot_.uses.any_waiting()) return;
  tracer::Recorder* const now = hot_.recorder.load(std::memory_order_acquire);
  for (const StreamUses::Waiting& done : hot_.uses.passed(port_)) {
    if (done.address == nullptr) continue;
    if (now != nullptr) now->on_free_completed(done.address);
    if (!done.in_arena) continue;
    if (hot_.history.load(std::memory_order_relaxed))
      port_.on_block(BlockEvent::kFreeCompleted, done.address, Bytes(0), StreamId(0));
    arena_.owner_of(done.address)->release(done.address);
  }
}

}  // namespace stowage::session
