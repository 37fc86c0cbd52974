// What rescue recomputes and copies in an iteration, to compare a schedule with.
//
// The logged iteration says which ops rescue ran again, and its op times say how long they take. It is no
// measure if tensors were still evicted when it ended: they cost rescue later. Nor is it the job's whole
// iteration if the job has several marks in one, as with two optimizers: then rescue may have run most ops
// again beside it. So the mean over all marks since evictions began counts, where that is more. Copies count
// with that mean, as their stores estimate them.
//
// Thread safety: none; the conductor's.
#pragma once

#include <cstdint>
#include <optional>

#include "core/runtime/runtime_counters.h"
#include "core/step_log.h"

namespace stowage::session {

class RescueCost {
 public:
  /// Iterations evict from here on. `before`: the counts when the first of them began.
  void begin(const RuntimeCounters& before) {
    replays_before_ = before.replays;
    copies_before_ns_ = before.copy_cost_ns;
    marks_ = 0;
  }
  /// A mark of theirs came.
  void note_mark() { ++marks_; }
  /// `log` is written down, of the iteration that ends with `counts`.
  void note_log(const StepLog& log, const RuntimeCounters& counts);

  /// By the log's op times, per mark; nullopt: nobody knows.
  [[nodiscard]] std::optional<std::uint64_t> ns() const { return ns_; }
  /// Of these, in copies.
  [[nodiscard]] std::uint64_t copies_ns() const { return copies_ns_; }
  /// `schedule` recomputes for longer, by more than what a schedule is worth.
  [[nodiscard]] bool is_below(const Schedule& schedule) const;

 private:
  std::uint64_t replays_before_ = 0;
  std::uint64_t copies_before_ns_ = 0;
  std::uint64_t copies_ns_ = 0;
  std::uint64_t marks_ = 0;
  std::uint64_t ops_ns_ = 0;  ///< what the logged iteration's ops took
  std::optional<std::uint64_t> ns_;
};

}  // namespace stowage::session
