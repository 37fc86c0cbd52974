// What is evicted now, and totals of evictions and restores.
//
// Thread safety: any_away() from any thread; the runtime's lock guards all else.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace stowage::recompute {

/// The part of RuntimeCounters that is counted here.
struct ResidencyCounts {
  std::uint64_t evictions = 0;
  std::uint64_t restores = 0;
  std::uint64_t replays = 0;
  std::uint64_t replay_ns = 0;       ///< host time
  std::uint64_t replay_cost_ns = 0;  ///< on CUDA the modelled time, elsewhere host time
  std::uint64_t evicted_bytes = 0;
  std::uint64_t evicted_total = 0;
  std::uint64_t died_total = 0;  ///< bytes that died while they were evicted
};

class ResidencyCounter {
 public:
  /// A storage of `bytes` was evicted.
  void left(std::uint64_t bytes) {
    ++counts_.evictions;
    counts_.evicted_total += bytes;
    set_evicted_bytes(counts_.evicted_bytes + bytes);
  }
  /// One that was evicted is restored.
  void came_back(std::uint64_t bytes) {
    ++counts_.restores;
    set_evicted_bytes(counts_.evicted_bytes - bytes);
  }
  /// One died while it was evicted.
  void died(std::uint64_t bytes) {
    counts_.died_total += bytes;
    set_evicted_bytes(counts_.evicted_bytes - bytes);
  }
  /// An op of this shape ran again in `host_ns`, which counts as `cost_ns`.
  void replayed(std::uint64_t host_ns, std::uint64_t cost_ns, std::uint64_t shape) {
    ++counts_.replays;
    if (log_ != nullptr) log_->push_back(shape);
    counts_.replay_ns += host_ns;
    counts_.replay_cost_ns += cost_ns;
  }
  /// The shapes of ops that run again are added to `log` from now on; null: to none.
  void log_replays(std::vector<std::uint64_t>* log) { log_ = log; }
  /// True if anything is evicted.
  [[nodiscard]] bool any_away() const { return any_away_.load(std::memory_order_relaxed); }
  [[nodiscard]] const ResidencyCounts& counts() const { return counts_; }
  /// Requires: nothing is evicted.
  void reset() { counts_ = {}; }

 private:
  void set_evicted_bytes(std::uint64_t bytes) {
    counts_.evicted_bytes = bytes;
    any_away_.store(bytes > 0, std::memory_order_relaxed);
  }

  ResidencyCounts counts_;
  std::vector<std::uint64_t>* log_ = nullptr;
  std::atomic<bool> any_away_{false};
};

}  // namespace stowage::recompute
