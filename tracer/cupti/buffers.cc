#include "tracer/cupti/buffers.h"

#include <algorithm>

namespace stowage::tracer::cupti {
namespace {

/// Keeps `memory` until the process ends, where a check for leaks finds it.
void keep_forever(std::unique_ptr<std::byte[]>& memory) noexcept try {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<std::byte[]>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
} catch (...) {
  static_cast<void>(memory.release());
}

}  // namespace

BufferPool::BufferPool(std::size_t count, std::size_t bytes) : bytes_(bytes), buffers_(count) {
  for (Buffer& buffer : buffers_) buffer.memory = std::make_unique<std::byte[]>(bytes);  // zeroed and touched
}

BufferPool::~BufferPool() {
  for (Buffer& buffer : buffers_)
    if (buffer.place == Place::kAway) keep_forever(buffer.memory);
}

BufferPool::Buffer* BufferPool::find(const std::byte* buffer) {
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const Buffer& candidate) { return candidate.memory.get() == buffer; });
  return found == buffers_.end() ? nullptr : &*found;
}

std::byte* BufferPool::take() noexcept {
  const std::lock_guard lock(mutex_);
  for (Buffer& buffer : buffers_) {
    if (buffer.place != Place::kFree) continue;
    buffer.place = Place::kAway;
    return buffer.memory.get();
  }
  ++refused_;
  return nullptr;
}

bool BufferPool::complete(std::byte* buffer, std::size_t valid) noexcept try {
  const std::lock_guard lock(mutex_);
  Buffer* const own = find(buffer);
  if (own == nullptr || own->place != Place::kAway) return false;
  filled_.push_back({buffer, std::min(valid, bytes_)});
  own->place = Place::kFilled;
  changed_.notify_all();
  return true;
} catch (...) {  // no memory for the queue: the buffer counts as lost
  return true;
}

std::optional<BufferPool::Filled> BufferPool::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || !filled_.empty(); });
  if (filled_.empty()) return std::nullopt;
  const Filled filled = filled_.front();
  filled_.pop_front();
  ++being_read_;
  return filled;
}

void BufferPool::give_back(std::byte* buffer) {
  const std::lock_guard lock(mutex_);
  if (Buffer* const own = find(buffer)) own->place = Place::kFree;
  --being_read_;
  changed_.notify_all();
}

void BufferPool::wait_until_read(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return filled_.empty() && being_read_ == 0; });
}

void BufferPool::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::size_t BufferPool::away() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      buffers_.begin(), buffers_.end(), [](const Buffer& buffer) { return buffer.place == Place::kAway; }));
}

std::uint64_t BufferPool::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace stowage::tracer::cupti
