// How many allocations a job has made since its last mark: one that never says where an iteration ends, and
// has no period either, must not be recorded for ever.
//
// What has to be done then is best done while little is alive, between two answers of a language model say.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/units.h"

namespace stowage::session {

class UnmarkedRun {
 public:
  /// Allocations without a mark after which something has to be done.
  static constexpr std::uint32_t kLong = 1u << 15;

  /// One more, while `live` bytes are alive. True: the run is long and hardly less was alive in its second
  /// half, or it is twice as long; then it begins anew.
  [[nodiscard]] bool on_alloc(Bytes live) noexcept {
    constexpr std::uint64_t kShares = 32;
    const std::uint32_t run = run_.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t lowest = lowest_.load(std::memory_order_relaxed);
    if (run < kLong / 2) return false;
    if (run < kLong) {
      lowest_.store(std::min(run == kLong / 2 ? live.value() : lowest, live.value()),
                    std::memory_order_relaxed);
      return false;
    }
    if (live.value() > lowest + lowest / kShares && run < 2 * kLong) return false;
    on_mark();
    return true;
  }
  void on_mark() noexcept { run_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> run_{0};
  std::atomic<std::uint64_t> lowest_{0};  ///< bytes alive in the second half of a long run
};

}  // namespace stowage::session
