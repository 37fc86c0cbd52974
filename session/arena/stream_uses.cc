#include "session/arena/stream_uses.h"

#include <algorithm>
#include <utility>

namespace stowage::session {

void StreamUses::note(void* address, StreamId stream) {
  const std::lock_guard lock(mutex_);
  std::vector<StreamId>& streams = uses_[address];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  noted_.store(uses_.size(), std::memory_order_relaxed);
}

std::vector<StreamId> StreamUses::take(void* address) {
  if (!any_noted()) return {};
  const std::lock_guard lock(mutex_);
  const auto at = uses_.find(address);
  if (at == uses_.end()) return {};
  std::vector<StreamId> streams = std::move(at->second);
  uses_.erase(at);
  noted_.store(uses_.size(), std::memory_order_relaxed);
  return streams;
}

void StreamUses::wait(Waiting waiting) {
  const std::lock_guard lock(mutex_);
  if (waiting.in_arena) in_arena_.fetch_add(1, std::memory_order_relaxed);
  if (!waiting.in_arena) upstream_owes_.store(true, std::memory_order_relaxed);
  waiting_.push_back(std::move(waiting));
  waiting_count_.fetch_add(1, std::memory_order_relaxed);
}

void StreamUses::upstream_looked() {
  if (!upstream_owes()) return;
  const std::lock_guard lock(mutex_);
  const bool waits =
      std::any_of(waiting_.begin(), waiting_.end(), [](const Waiting& one) { return !one.in_arena; });
  upstream_owes_.store(waits, std::memory_order_relaxed);
}

bool StreamUses::forget(void* address) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const Waiting& one) { return one.address == address && !one.in_arena; });
  if (at == waiting_.end()) return false;
  at->address = nullptr;  // its fences are still queried, so that the port can recycle them
  return true;
}

std::vector<std::uint64_t> StreamUses::arena_fences() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> ids;
  for (const Waiting& one : waiting_) {
    if (!one.in_arena) continue;
    for (const Fence& fence : one.fences) ids.push_back(fence.id);
  }
  return ids;
}

std::vector<StreamUses::Waiting> StreamUses::passed(DevicePort& port) {
  std::vector<Waiting> open;
  {
    const std::lock_guard lock(mutex_);
    open.swap(waiting_);  // private until they are put back, so that no fence is queried twice
  }
  std::vector<Waiting> done;
  std::vector<Waiting> rest;
  std::vector<StreamId> behind;  // streams with a pending fence: later ones are pending too
  const auto has_passed = [&](const Fence& fence) {
    if (std::find(behind.begin(), behind.end(), fence.stream) != behind.end()) return false;
    if (port.fence_passed(fence.id)) return true;
    behind.push_back(fence.stream);
    return false;
  };
  for (Waiting& one : open) {
    std::erase_if(one.fences, has_passed);
    (one.fences.empty() ? done : rest).push_back(std::move(one));
  }
  const auto in_arena =
      std::count_if(done.begin(), done.end(), [](const Waiting& one) { return one.in_arena; });
  const std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.begin(), std::make_move_iterator(rest.begin()),
                  std::make_move_iterator(rest.end()));
  waiting_count_.fetch_sub(done.size(), std::memory_order_relaxed);
  in_arena_.fetch_sub(static_cast<std::size_t>(in_arena), std::memory_order_relaxed);
  return done;
}

}  // namespace stowage::session
