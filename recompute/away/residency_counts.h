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
  std::uint64_t offloads = 0;
  std::uint64_t fetches = 0;       ///< of what was offloaded
  std::uint64_t copy_ns = 0;       ///< host time of both
  std::uint64_t copy_cost_ns = 0;  ///< of both, by their stores' estimates
  std::uint64_t copied_total = 0;  ///< bytes, to stores
  std::uint64_t offloaded_bytes = 0;
  std::uint64_t offloaded_total = 0;
  std::uint64_t died_total = 0;  ///< bytes that died while they were away

  /// Host time of the runtime's own work.
  [[nodiscard]] std::uint64_t aside_ns() const { return replay_ns + copy_ns; }
};

class ResidencyCounter {
 public:
  /// A storage of `bytes` was evicted.
  void left(std::uint64_t bytes) {
    ++counts_.evictions;
    counts_.evicted_total += bytes;
    set_away(counts_.evicted_bytes + bytes, counts_.offloaded_bytes);
  }
  /// One that was evicted is restored.
  void came_back(std::uint64_t bytes) {
    ++counts_.restores;
    set_away(counts_.evicted_bytes - bytes, counts_.offloaded_bytes);
  }
  /// One died while it was evicted.
  void died(std::uint64_t bytes) {
    counts_.died_total += bytes;
    set_away(counts_.evicted_bytes - bytes, counts_.offloaded_bytes);
  }
  /// `bytes` were copied to a store in `host_ns`, which counts as `cost_ns`.
  void copied_away(std::uint64_t bytes, std::uint64_t host_ns, std::uint64_t cost_ns) {
    counts_.copied_total += bytes;
    counts_.copy_ns += host_ns;
    counts_.copy_cost_ns += cost_ns;
  }
  /// They were copied back.
  void copied_back(std::uint64_t host_ns, std::uint64_t cost_ns) {
    ++counts_.fetches;
    counts_.copy_ns += host_ns;
    counts_.copy_cost_ns += cost_ns;
  }
  /// A copy that was begun before was waited for, in this host time.
  void waited_for_copy(std::uint64_t host_ns) { counts_.copy_ns += host_ns; }
  /// `bytes` of the job's own are in a store alone now, or a copy of them that recomputation starts from.
  void offloaded(std::uint64_t bytes) {
    note_offload(bytes);
    set_away(counts_.evicted_bytes, counts_.offloaded_bytes + bytes);
  }
  void note_offload(std::uint64_t bytes) {
    ++counts_.offloads;
    counts_.offloaded_total += bytes;
  }
  /// It is restored.
  void fetched(std::uint64_t bytes) { set_away(counts_.evicted_bytes, counts_.offloaded_bytes - bytes); }
  /// It died before.
  void died_offloaded(std::uint64_t bytes) {
    counts_.died_total += bytes;
    set_away(counts_.evicted_bytes, counts_.offloaded_bytes - bytes);
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
  /// True if anything is evicted or offloaded.
  [[nodiscard]] bool any_away() const { return any_away_.load(std::memory_order_relaxed); }
  [[nodiscard]] const ResidencyCounts& counts() const { return counts_; }
  /// Requires: nothing is away.
  void reset() { counts_ = {}; }

 private:
  void set_away(std::uint64_t evicted, std::uint64_t offloaded) {
    counts_.evicted_bytes = evicted;
    counts_.offloaded_bytes = offloaded;
    any_away_.store(evicted + offloaded > 0, std::memory_order_relaxed);
  }

  ResidencyCounts counts_;
  std::vector<std::uint64_t>* log_ = nullptr;
  std::atomic<bool> any_away_{false};
};

}  // namespace stowage::recompute
