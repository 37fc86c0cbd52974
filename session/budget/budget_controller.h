// Holds one session's device to the user's budget: the limit in the ledger, and the runtime that makes room
// under it.
//
// An amount or a share of the device is the limit at once. A share of the job's own peak is one after two
// iterations, which run without a limit to measure the peak; in jobs without marks the allocations show it
// (peak_watch.h). A limit that cannot be held rises if the job asks for more than that peak. The runtime
// observes ops from the beginning in any case, since it can recompute only what it has seen. What the job
// holds above a new limit is evicted; if it cannot be (say, a live graph whose parameters have changed),
// nothing is added to it, and the limit counts from when it is met. While a plan serves that fits, the
// runtime rests: it is uninstalled, and only the limit stays.
//
// "auto" is no budget until the job has nearly filled the device. Then the runtime joins in, in the midst of
// an iteration, and the limit is what the job can get there; if whole iterations turn out to fit with nothing
// evicted, it leaves again.
//
// Thread safety: make_room(), nears_end(), the queries and the report from any thread; the rest from the
// session's conductor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "core/trace.h"
#include "session/budget/device_watch.h"
#include "session/budget/schedule_controller.h"
#include "session/ports/ledger.h"
#include "session/ports/torch_port.h"
#include "session/settings/budget.h"
#include "session/states/states.h"

namespace stowage::session {

/// The state of a budget, for the report.
struct BudgetFacts {
  std::string setting;  ///< "" without a budget
  Bytes limit{0};       ///< 0: not known yet, or not met yet
  Bytes excess{0};      ///< held beyond a limit that is not met yet; nothing is added to it
  Bytes own_peak{0};    ///< of the iterations without a limit; 0 where there were none
  Bytes held{0};
  Bytes peak_held{0};            ///< since the limit was met
  Bytes last_iteration_peak{0};  ///< most held in the last iteration that ended
  std::uint64_t shortages = 0;   ///< requests that first needed room
  std::uint64_t refusals = 0;    ///< requests that ended in an out-of-memory error
  bool watching = false;         ///< the runtime sees ops now
  std::uint64_t joins = 0;       ///< times that "auto" took effect
  std::uint64_t joined_at = 0;   ///< iterations before the last of them
  RuntimeCounters counts;
  ScheduleFacts schedule;
};

class BudgetController {
 public:
  /// `ledger`: null if the device has none; a budget is refused there. `schedule_wait`: how long to wait for
  /// a requested schedule. `port`, `maker`, `kept`: as ScheduleController's.
  BudgetController(const Budget& budget, Ledger* ledger, TorchPort& torch, Device device, Bytes device_memory,
                   std::chrono::milliseconds schedule_wait, DevicePort* port = nullptr,
                   ScheduleController::Maker maker = planner::schedule::BackgroundScheduler::make,
                   KeptSchedules* kept = nullptr);

  /// Starts to hold the budget once Python's guards are known. `last_call`: if they are still missing,
  /// refuses the budget with a warning.
  void begin(bool last_call);
  /// Of "auto": upstream gave out `bytes`. True if the job has nearly filled the device, so that join()
  /// should be called soon. Asks the driver now and then.
  bool nears_end(Bytes bytes) noexcept;
  /// "auto" has not taken effect, and may.
  [[nodiscard]] bool is_armed() const {
    return state_.load(std::memory_order_relaxed) == State::kArmed && torch_.guards_are_known();
  }
  /// nears_end() was true since the last join().
  [[nodiscard]] bool is_near_end() const { return near_.load(std::memory_order_relaxed); }
  /// Of "auto" that took effect: upstream gave out `bytes`. True now and then if nothing was evicted in as
  /// many as fill the device several times and the allocations show the job's own peak (PeakWatch), so that
  /// leave() should be called soon: marks need not come, or come in ops.
  bool may_leave(Bytes bytes, bool shows_peak) noexcept;
  /// Of "auto": ends, if may_leave() was true and nothing was evicted since it took effect. Requires: as
  /// join().
  void leave();
  /// Of "auto": takes effect, if the job still nearly fills the device. True if it did. Requires: the calling
  /// thread is between ops.
  bool join();
  /// Lifts the limit and restores evicted tensors. Failures are warnings.
  void end() noexcept;
  /// Uninstalls the runtime; the limit stays. Throws what recomputation throws.
  void rest();
  /// Installs the runtime again.
  void resume();
  /// An iteration ended, between ops unless `source` is kPeriod. True if it evicted anything beyond what a
  /// schedule says.
  bool on_mark(MarkSource source);
  /// The same, of the last mark.
  [[nodiscard]] bool evicted_on_demand() const { return evicted_on_demand_; }

  /// The schedule, for the session that plans an arena under it.
  [[nodiscard]] ScheduleController& schedule() { return schedule_; }
  /// A budget is set, was not refused and has not ended.
  [[nodiscard]] bool on() const { return state_.load() > State::kEnded; }
  /// Its limit is not known yet.
  [[nodiscard]] bool pending() const { return on() && !ledger_->limited(); }
  /// What the allocations show of the job's own peak is of use: for a limit by that, or for may_leave().
  [[nodiscard]] bool wants_peak() const { return pending() || watches_calm(); }
  /// The runtime may be uninstalled at this mark: the mark is between ops, no other thread is in an
  /// iteration, and nothing is evicted. True without a budget.
  [[nodiscard]] bool may_rest() const;
  /// The last mark came between ops; marks that the allocations show come inside an op.
  [[nodiscard]] bool between_ops() const { return between_ops_; }
  /// Evicts until `bytes` more fit or nothing more can be evicted. True if anything changed.
  bool make_room(Bytes bytes) noexcept;
  /// For a budget of 100% of the own peak: a plan takes `planned` bytes. They become the own peak if they
  /// exceed the measured one by at most 1/64. True if the limit is higher now.
  bool raise_own_peak(Bytes planned);
  /// `bytes` more do not fit, and nothing else helped. For a budget that is a share of the own peak: if the
  /// job needs more than that peak, its need becomes the peak, and the limit rises with it; after
  /// believe_peak() it always rises. True if it did.
  bool follow_peak(Bytes bytes) noexcept;
  /// The allocations alone show that the peak so far is the job's own: its share becomes the
  /// limit.
  void believe_peak();
  /// Upstream refused `bytes` for lack of contiguous room: evicts the cheapest neighbours in `space` that
  /// free it. True if anything was evicted.
  bool make_contiguous_room(Bytes bytes, const FreeSpace& space) noexcept;
  /// Upstream refused `bytes`, though the ledger may have room: evicts that much, or what is missing. True
  /// if anything was evicted.
  bool make_more_room(Bytes bytes) noexcept;
  /// `bytes` more do not fit, and nothing can be evicted: while other threads train too, waits for their ops
  /// to free memory, a tenth of a second at most. True if it fits now or anything was evicted; if upstream
  /// `refused` what the ledger has room for, only if anything was evicted.
  bool await_others(Bytes bytes, bool refused) noexcept;
  /// No request for more can be met, `idle` bytes that nobody uses included: what is left of the limit when
  /// all is evicted that may be, in whole pages. Nothing without a limit.
  [[nodiscard]] std::optional<Bytes> most_room(Bytes idle) const;
  /// The calling thread recomputes: the runtime waits for it.
  [[nodiscard]] bool recomputes() const { return torch_.recomputes(); }
  /// A request does not fit, and nothing else helped: the sentence for the out-of-memory error. Empty if the
  /// job will not see the error.
  std::string explain(Shortage shortage);
  [[nodiscard]] BudgetFacts facts() const;
  /// In a forked child: no limit there. Takes no lock.
  void after_fork() noexcept;

 private:
  using State = BudgetState;
  void arm();
  void stand_down_where_calm(bool evicted);
  void stand_down();
  bool disarm(const std::string& why);
  void note_shortage() noexcept;
  [[nodiscard]] std::optional<Bytes> free_where_near();
  [[nodiscard]] Bytes held_on_device() const;
  /// "auto" has taken effect, and no request needed room since.
  [[nodiscard]] bool watches_calm() const noexcept;
  /// A request needed room since "auto" took effect.
  [[nodiscard]] bool was_short() const { return shortages_.load() != shortages_at_join_.load(); }
  /// No other thread is in an iteration, and nothing is away.
  [[nodiscard]] bool is_idle() const;
  void end_runtime();
  void refuse(const std::string& why);
  void take_limit(Bytes limit) noexcept;
  void set_limit(Bytes limit);
  void shed();
  bool end_iteration(MarkSource source);
  void learn_peak(MarkSource source);
  void note_demand(Bytes bytes) noexcept;
  bool raise_least(Bytes bytes) noexcept;
  void raise_peak(std::uint64_t peak) noexcept;
  void warn_of_no_limit() const;
  [[nodiscard]] Bytes upstream_page() const;
  [[nodiscard]] bool leaves_all() const;
  [[nodiscard]] std::uint64_t unplanned_evictions() const;

  const Budget budget_;
  Ledger* const ledger_;
  TorchPort& torch_;
  const Device device_;
  const Bytes device_memory_;
  DevicePort* const port_;
  StateMachine<State> state_{"budget", State::kNone, budget_arcs()};
  std::atomic<std::uint64_t> own_peak_{0};
  std::atomic<std::uint64_t> demand_{0};  ///< the most that the job would have held at a shortage
  std::atomic<std::uint64_t> shortages_{0};
  std::atomic<std::uint64_t> refusals_{0};
  std::uint32_t free_marks_ = 0;         ///< iterations without a limit
  std::uint64_t evictions_at_mark_ = 0;  ///< unplanned_evictions() at the last mark
  std::atomic<bool> soft_{false};        ///< the limit was raised so that a request fits
  bool evicted_on_demand_ = false;       ///< before the last mark
  bool between_ops_ = false;             ///< the last mark came between ops
  std::atomic<bool> believed_{false};    ///< the limit is of a peak from believe_peak()
  std::uint64_t marks_ = 0;
  DeviceWatch watch_;
  std::atomic<bool> near_{false};
  std::atomic<bool> counts_{false};           ///< the ledger counts upstream, of "auto"
  std::atomic<bool> leaves_{false};           ///< may_leave() was true
  std::atomic<std::uint64_t> calm_bytes_{0};  ///< given out since then, or since leave() was last asked for
  std::atomic<std::uint64_t> shortages_at_join_{0};
  std::uint32_t calm_marks_ = 0;  ///< in a row with nothing evicted, since "auto" took effect
  std::atomic<std::uint64_t> joins_{0};
  std::atomic<std::uint64_t> joined_at_{0};
  ScheduleController schedule_;
  mutable std::mutex counts_mutex_;
  RuntimeCounters earlier_;  ///< from before the last rest
};

}  // namespace stowage::session
