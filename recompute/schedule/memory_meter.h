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
  /// `evicted`: bytes that the job holds but not the allocator.
  void start(std::uint64_t evicted) {
    const std::lock_guard<std::mutex> lock(mutex_);
    on_ = true;
    heard_ = false;
    level_ = peak_ = base_ = 0;
    evicted_ = static_cast<std::int64_t>(evicted);
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
    if (!heard_) base_ = static_cast<std::int64_t>(held) - delta + evicted_;
    heard_ = true;
    if (!own) return;
    level_ += delta;
    if (level_ > peak_) peak_ = level_;
  }
  /// `bytes` died while they were evicted: the allocator has given them back before, for another reason.
  void note_death(std::uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    level_ -= static_cast<std::int64_t>(bytes);
  }
  /// Bytes that the job held when the meter started. Requires: heard(), as nobody knows before.
  std::int64_t base() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return base_;
  }
  /// How many more it holds now.
  std::int64_t level() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return level_;
  }
  /// And at most since the last call of mark().
  std::int64_t peak() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return peak_;
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
  std::int64_t evicted_ = 0;  ///< when the meter started
  std::int64_t base_ = 0;     ///< held by the job then; once it is heard
  std::int64_t level_ = 0;    ///< since then
  std::int64_t peak_ = 0;
};

}  // namespace stowage::recompute
