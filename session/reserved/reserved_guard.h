// Guards reserved memory: with a plan a job never reserves more than it was seen to need without one.
//
// Compares the sum of arena and upstream with the job's need: the most that upstream held while no plan was
// followed, under the present allocator settings and hardly more than without Stowage, plus the tensors that
// the job came to keep since; or what tensors held at one time, if that is more: no allocator needs less. A
// Where requests are served without a plan, expandable segments' share of holes comes on top of that. A
// lower estimate of the sum is checked before the arena is mapped, the sum itself after every planned
// iteration. Exceptions: leftovers of the switch, and a few iterations of a kind that may yet get its own
// plan.
//
// Thread safety: note_reserved(), most() and the queries next to them from any thread; the rest is the
// conductor's.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "session/arena/served_arena.h"
#include "session/budget/budget_controller.h"
#include "session/facts/session_facts.h"
#include "session/ports/device_port.h"

namespace stowage::session {

class ReservedGuard {
 public:
  /// All must outlive it. `info`: the device.
  ReservedGuard(DevicePort& port, const TraceInfo& info, const BudgetController& budget,
                const ServedArena& arena, SessionFacts& facts)
      : port_(port), info_(info), budget_(budget), arena_(arena), facts_(facts) {}

  /// Bytes of arenas and upstream together, if upstream reserves `upstream_reserved`.
  [[nodiscard]] Bytes held(Bytes upstream_reserved) const {
    return arena_.committed_bytes() + upstream_reserved;
  }
  /// Upstream reserves this much now.
  void note_reserved(Bytes upstream_reserved);
  /// Peak of arena and upstream together since the switch.
  [[nodiscard]] Bytes reserved_after() const { return Bytes(reserved_after_.load()); }
  [[nodiscard]] Bytes reserved_in_iteration() const {
    return Bytes(reserved_in_iteration_.load(std::memory_order_relaxed));
  }
  /// Resets the peaks.
  void reset_peak();

  /// The most that may be reserved; nothing under a budget, for an earlier run's plan, or if the device does
  /// not report upstream's peak.
  std::optional<Bytes> most();
  /// `more` bytes fit into what most() returned last, which hardly ever falls. Quick.
  [[nodiscard]] bool fits(Bytes more, const UpstreamUse& use) const {
    return held(use.reserved) + more <= last_most();
  }
  /// What most() returned last.
  [[nodiscard]] Bytes last_most() const { return Bytes(last_most_.load(std::memory_order_relaxed)); }

  /// The first plan is made from `trace`: simulates what expandable segments would have reserved.
  void note_modelled(const Trace& trace);
  /// Whether the next plan is of an earlier run, which has already checked it.
  void trust_plan(bool from_cache) { from_cache_.store(from_cache, std::memory_order_relaxed); }
  [[nodiscard]] bool trusts_plan() const { return from_cache_.load(std::memory_order_relaxed); }
  /// A first plan is in use, or requests are served without one. `online`: the second.
  void begin(bool online = false);
  /// Plans were added or left: counts iterations from 0 again. `old_tensors_are_gone`: nothing is left of
  /// the switch.
  void restart(bool old_tensors_are_gone = false);
  /// An iteration that was all planned ended with `outside` bytes of tensors outside the arena, for which
  /// upstream reserves `reserved`.
  void note_lasting(Bytes outside, Bytes reserved);

  /// Arena and upstream together, and what would be enough without a plan.
  struct Excess {
    Bytes reserved{0};
    Bytes most{0};
  };
  /// What following `plans` would reserve, if that is too much.
  std::optional<Excess> foretell(const JointPlan& plans);
  /// The most that upstream reserved in the last iteration that was all planned; 0 if there was none. It may
  /// be far more than at an iteration's end: a loop that holds several batches makes the next one at its
  /// beginning.
  [[nodiscard]] Bytes beside() const { return beside_; }
  /// How high the arena of a job that follows plans may be, if the last iteration reserved `reserved`: more
  /// would be more than the job needs, and than it takes now. `pinned`: what upstream cannot give back beside
  /// its tensors. Nothing where nothing is guarded.
  std::optional<Bytes> room_for_arena(Bytes reserved, Bytes pinned = Bytes(0));

  enum class Verdict : std::uint8_t {
    kFine,
    kRelease,  ///< upstream's cache should be released
    kLeave,    ///< leave the plan; another one may do better
    kGiveUp    ///< the job is better off without a plan
  };
  /// An iteration ended. `clean`: every request was the plan's; `planning`: other plans are being made, which
  /// may solve the problem.
  Verdict on_iteration(bool clean, bool planning);
  /// Of the last iteration that reserved too much.
  [[nodiscard]] Excess excess() const { return excess_; }

 private:
  [[nodiscard]] Bytes tolerated(Bytes most) const;
  [[nodiscard]] Bytes with_holes(Bytes live) const;

  DevicePort& port_;
  const TraceInfo& info_;
  const BudgetController& budget_;
  const ServedArena& arena_;
  SessionFacts& facts_;
  std::atomic<std::uint64_t> reserved_after_{0};
  std::atomic<std::uint64_t> reserved_in_iteration_{0};
  std::atomic<std::uint64_t> upstream_in_iteration_{0};
  Bytes beside_{0};
  std::atomic<std::uint64_t> last_most_{0};
  std::atomic<std::uint64_t> lasting_more_{0};  ///< bytes outside the arena beyond `lasting_first_`
  std::atomic<bool> from_cache_{false};
  std::atomic<bool> tight_{false};  ///< nothing on top: leftovers of a switch to online serving
  std::atomic<double> holes_{0};    ///< what online serving may reserve beyond what lives, as a share
  std::atomic<std::uint64_t> recorded_live_{0};  ///< bytes, where there was a plan: they have no holes
  double modelled_holes_ = 0;                    ///< the same for expandable segments, in the recording
  std::optional<Bytes> lasting_first_;      ///< least that lived outside the arena when an iteration ended
  Bytes reserved_first_{0};                 ///< least that upstream reserved for it
  std::uint64_t settled_iterations_ = 0;    ///< since plans were added or left
  std::uint64_t oversized_iterations_ = 0;  ///< of these, those that reserved more than the job needs
  bool left_once_ = false;                  ///< a plan was left for that
  bool had_plan_ = false;
  Excess excess_;
};

}  // namespace stowage::session
