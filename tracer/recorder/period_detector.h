// Finds where iterations begin in jobs that never step a torch optimizer, from the allocations alone.
//
// A training loop asks for the same (rounded, stream) sequence again and again. The last allocations are
// searched for the shortest period that repeats three times, and that is an iteration rather than a layer
// among layers: it holds the largest recent allocation, live bytes come back to where they were, and it
// spans most of what has been seen. The search is the failure function of Knuth, Morris and Pratt (1977) on
// the reversed history, run when the history has grown by a quarter, so that its cost is constant an
// allocation. Once found, each allocation is compared with the one a period ago; the first that differs ends
// the period and the search begins again.
//
// Thread safety: every member may be called from any thread (one mutex inside).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/trace.h"

namespace stowage::tracer {

struct PeriodOptions {
  std::uint32_t min_period = 16;         ///< allocations; shorter repetitions are not iterations
  std::uint32_t repetitions = 3;         ///< full periods that must agree; at least 2
  std::uint32_t max_history = 1u << 18;  ///< allocations remembered; a period is at most this / repetitions
  std::uint32_t quiet_after_mark = 1u << 20;  ///< allocations without other marks before the search begins
};

class PeriodDetector {
 public:
  explicit PeriodDetector(PeriodOptions options = {}) : options_(options) {}

  /// To be asked just before each allocation is recorded; `live` is what is alive then, without it. kPeriod
  /// when the allocation is the first of an iteration: the mark belongs before it.
  std::optional<MarkSource> on_alloc(Bytes rounded, StreamId stream, Bytes live);

  /// Someone else said where an iteration ends: the search rests for options.quiet_after_mark allocations.
  void on_mark();

  /// Allocations an iteration has, when known.
  [[nodiscard]] std::optional<std::uint32_t> period() const;

 private:
  struct Event {
    std::uint64_t rounded = 0;
    std::uint64_t live = 0;
    std::uint32_t stream = 0;
  };

  void search();
  [[nodiscard]] std::uint32_t find_period() const;
  [[nodiscard]] bool is_iteration(std::uint32_t period, std::uint32_t run) const;
  [[nodiscard]] bool follows(const Event& event);
  void begin_tracking(std::uint32_t period);
  void lose();
  void forget();

  const PeriodOptions options_;
  mutable std::mutex mutex_;
  std::vector<Event> history_;     // oldest first while searching; one period, as a ring, while tracking
  std::uint32_t floor_ = 0;        // history size below which no search is worth it
  std::uint32_t tracked_ = 0;      // periods since it was found
  std::uint32_t next_search_ = 0;  // history size at which to search
  std::uint32_t quiet_ = 0;        // allocations left to let pass
  std::uint32_t period_ = 0;       // 0 while searching
  std::uint32_t position_ = 0;     // of the next allocation in the period
};

}  // namespace stowage::tracer
