#include "simulator/stand_ins/cupti/buffers.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "simulator/stand_ins/cupti/faults.h"

namespace stowage::simulator {

void ActivityBuffers::use(CUpti_BuffersCallbackRequestFunc requested,
                          CUpti_BuffersCallbackCompleteFunc completed) {
  request_.store(requested);
  complete_.store(completed);
}

std::thread::id ActivityBuffers::key() const {
  return per_thread_.load() ? std::this_thread::get_id() : std::thread::id();
}

void ActivityBuffers::write(std::span<const RawRecord> records) {
  for (const RawRecord& record : records) {
    if (put(record)) continue;
    request();
    if (!put(record)) dropped_.fetch_add(1);
  }
}

// False: there is no buffer with room. A full one goes to the worker.
bool ActivityBuffers::put(const RawRecord& record) {
  const std::lock_guard lock(mutex_);
  Buffer& buffer = buffers_[key()];
  if (buffer.memory != nullptr && buffer.bytes - buffer.used < record.size)
    give_to_worker(std::exchange(buffer, Buffer()));
  if (buffer.memory == nullptr) return false;
  std::memcpy(buffer.memory + buffer.used, record.bytes.data(), record.size);
  buffer.used += record.size;
  return true;
}

void ActivityBuffers::request() {
  const CUpti_BuffersCallbackRequestFunc client = request_.load();
  if (client == nullptr || cupti_faults().strikes(CuptiFault::kDrop)) return;
  Buffer fresh;
  std::size_t most_records = 0;
  client(&fresh.memory, &fresh.bytes, &most_records);
  if (fresh.memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  Buffer& present = buffers_[key()];
  if (present.memory != nullptr) give_to_worker(present);  // another thread was quicker
  present = fresh;
}

// Requires: mutex_ is held.
void ActivityBuffers::give_to_worker(const Buffer& full) {
  full_.push_back(full);
  if (worker_process_ != getpid()) {
    worker_process_ = getpid();
    std::thread([this] { work(); }).detach();
  }
  changed_.notify_all();
}

void ActivityBuffers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !full_.empty(); });
    const Buffer full = full_.front();
    full_.pop_front();
    ++returning_;
    lock.unlock();
    complete(full);
    lock.lock();
    --returning_;
    changed_.notify_all();
  }
}

void ActivityBuffers::complete(const Buffer& buffer) {
  if (const CUpti_BuffersCallbackCompleteFunc client = complete_.load())
    client(nullptr, 0, buffer.memory, buffer.bytes, buffer.used);
}

void ActivityBuffers::flush() {
  std::vector<Buffer> filled;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return full_.empty() && returning_ == 0; });
    for (auto& [thread, buffer] : buffers_)
      if (buffer.used > 0) filled.push_back(std::exchange(buffer, Buffer()));
  }
  for (const Buffer& buffer : filled) complete(buffer);
}

}  // namespace stowage::simulator
