// How many bytes the job itself holds, as an allocator reports them: without what evictions free and
// recomputations take.
//
// Thread safety: note() from any thread, also with an allocator's lock held; it takes no lock but its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace stowage::recompute {

class MemoryMeter {
 public:
  void start() {
    const std::lock_guard<std::mutex> lock(mutex_);
    on_ = true;
    heard_ = false;
    level_ = peak_ = base_ = 0;
  }
  void stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    on_ = false;
  }
  /// `delta` bytes were taken (or given back, below 0); `held` are held now.
  void note(std::int64_t delta, std::uint64_t held, bool own) {
    if (!on_.load(std::memory_order_relaxed)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!on_) return;
    if (!heard_) base_ = static_cast<std::int64_t>(held) - delta;
    heard_ = true;
    if (!own) return;
    level_ += delta;
    if (level_ > peak_) peak_ = level_;
  }
  /// Bytes that the job holds now.
  std::int64_t level() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return base_ + level_;
  }
  /// Most bytes that it held since the last call of mark().
  std::int64_t peak() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return base_ + peak_;
  }
  void mark() {
    const std::lock_guard<std::mutex> lock(mutex_);
    peak_ = level_;
  }
  /// False if no allocator reports: then nothing is known.
  bool heard() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return heard_;
  }
  /// For forks: guards only the meter.
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::atomic<bool> on_{false};
  bool heard_ = false;
  std::int64_t base_ = 0;   ///< held when the meter started
  std::int64_t level_ = 0;  ///< since then
  std::int64_t peak_ = 0;
};

}  // namespace stowage::recompute
