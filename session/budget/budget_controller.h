// Holds one session's device to the user's budget: the limit in the ledger, and the runtime that makes room
// under it.
//
// An amount and a share of the device are limits at once. A share of the job's own peak is one after two
// iterations, which run without a limit so that the peak is known; where nobody marks iterations, the
// allocations tell (peak_watch.h). A limit that cannot be held rises if the job asks for more than that peak.
// The runtime sees ops from the beginning in any case, or it could not make again what it is to evict. What
// the job holds above a limit when that is set is evicted. Where that is impossible (a live graph of
// parameters that have changed since), the job may allocate nothing more, and the limit applies as soon as
// it is met. While a plan serves that fits, the runtime rests: it is taken out, and only the limit stays.
//
// Thread safety: make_room(), the questions and the report from any thread; the rest from the session's
// conductor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/trace.h"
#include "session/budget/schedule_controller.h"
#include "session/ports/ledger.h"
#include "session/ports/torch_port.h"
#include "session/settings/budget.h"
#include "session/states/states.h"

namespace stowage::session {

/// Figures of a budget, for the report.
struct BudgetFacts {
  std::string setting;  ///< "" without a budget
  Bytes limit{0};       ///< 0: not known yet, or not met yet
  Bytes excess{0};      ///< held beyond a limit that is not met yet; nothing is added to it
  Bytes own_peak{0};    ///< of the iterations without a limit; 0 where there were none
  Bytes held{0};
  Bytes peak_held{0};           ///< since the limit is met
  std::uint64_t shortages = 0;  ///< requests that first needed room
  std::uint64_t refusals = 0;   ///< requests that ended in an out-of-memory error
  bool watching = false;        ///< the runtime sees ops now
  RuntimeCounters counts;
  ScheduleFacts schedule;
};

class BudgetController {
 public:
  /// `ledger`: null where the device has none; then a budget is refused. `schedule_wait`: where a schedule
  /// is requested, wait that long for it.
  BudgetController(const Budget& budget, Ledger* ledger, TorchPort& torch, Device device, Bytes device_memory,
                   std::chrono::milliseconds schedule_wait);

  /// Begins to hold the budget once Python's guards are known. `last_call`: they should be
  /// there by now, and without them the budget is refused with a warning.
  void begin(bool last_call);
  /// No limit from now on; evicted tensors come back. Failures are warnings.
  void end() noexcept;
  /// The runtime is taken out; the limit stays. Throws what recomputation throws.
  void rest();
  /// The runtime is there again.
  void resume();
  /// An iteration ended, between ops where `source` is not kPeriod. True if anything was evicted in it beyond
  /// what a schedule says.
  bool on_mark(MarkSource source);

  /// The schedule, for the session that plans an arena under it.
  [[nodiscard]] ScheduleController& schedule() { return schedule_; }
  /// A budget was requested and not refused.
  [[nodiscard]] bool on() const { return state_.load() > State::kEnded; }
  /// Its limit is not known yet.
  [[nodiscard]] bool pending() const { return on() && !ledger_->limited(); }
  /// The runtime may be taken out at this mark: it lies between ops, no other thread is in an iteration, and
  /// nothing is evicted. True without a budget.
  [[nodiscard]] bool may_rest() const;
  /// The last mark came between ops. Marks found in the allocations come inside an op.
  [[nodiscard]] bool between_ops() const { return between_ops_; }
  /// Evicts until `bytes` more fit or nothing more can be evicted. True if anything changed.
  bool make_room(Bytes bytes) noexcept;
  /// The plan of a job that fits into a share of its own peak takes `planned` bytes: that is its own peak, if
  /// it is hardly more than what was measured. True if the limit is higher now.
  bool raise_own_peak(Bytes planned);
  /// `bytes` more do not fit after all attempts. Where the job asks for more than the own peak that a share
  /// is of, that was not yet its peak: it is what the job asks for, and the limit rises with it. True if it
  /// did.
  bool follow_peak(Bytes bytes) noexcept;
  /// The allocations show that the peak so far is the job's own: from now on a share of it is the limit.
  void believe_peak();
  /// Upstream refused `bytes` for want of contiguous room: evicts the cheapest neighbours in `space` that
  /// make it. True if anything was evicted.
  bool make_contiguous_room(Bytes bytes, const FreeSpace& space) noexcept;
  /// Upstream refused `bytes`, though the ledger has room for them: evicts that much, or what is missing.
  /// True if anything was evicted.
  bool make_more_room(Bytes bytes) noexcept;
  /// `bytes` more do not fit, and nothing can be evicted: where other threads train, too, what their ops hold
  /// while they run is waited for, a tenth of a second at most. True if it fits now or anything was evicted;
  /// where upstream `refused` what might fit as it is counted, only if anything was.
  bool await_others(Bytes bytes, bool refused) noexcept;
  /// `bytes` more do not fit after all attempts: the sentence for the out-of-memory error. Empty where the
  /// job will not see it.
  std::string explain(Shortage shortage);
  [[nodiscard]] BudgetFacts facts() const;
  /// In a forked child: no limit there. Takes no lock.
  void after_fork() noexcept;

 private:
  using State = BudgetState;
  void refuse(const std::string& why);
  void set_limit(Bytes limit);
  void shed();
  void learn_peak(MarkSource source);
  void note_demand(Bytes bytes) noexcept;
  void raise_peak(std::uint64_t peak) noexcept;
  void warn_of_no_limit() const;
  [[nodiscard]] bool leaves_all() const;
  [[nodiscard]] std::uint64_t unplanned_evictions() const;

  const Budget budget_;
  Ledger* const ledger_;
  TorchPort& torch_;
  const Device device_;
  const Bytes device_memory_;
  StateMachine<State> state_{"budget", State::kNone, budget_arcs()};
  std::atomic<std::uint64_t> own_peak_{0};
  std::atomic<std::uint64_t> demand_{0};  ///< the most that the job would have held when it was short
  std::atomic<std::uint64_t> shortages_{0};
  std::atomic<std::uint64_t> refusals_{0};
  std::uint32_t free_marks_ = 0;         ///< iterations without a limit
  std::uint64_t evictions_at_mark_ = 0;  ///< unplanned_evictions() at the last mark
  std::atomic<bool> soft_{false};        ///< the limit was raised so that a request fits
  bool between_ops_ = false;             ///< the last mark came between ops
  std::atomic<bool> believed_{false};    ///< the limit is a share of a peak found in the allocations alone
  std::uint64_t marks_ = 0;
  ScheduleController schedule_;
  mutable std::mutex counts_mutex_;
  RuntimeCounters earlier_;  ///< of times before the last rest
};

}  // namespace stowage::session
