// Facts of a session for its report, and how much memory the job needs without a plan.
//
// Thread safety: any thread; one mutex, never held while anything else is called.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "allocator/planned_allocator.h"
#include "core/plan.h"
#include "core/trace.h"
#include "session/ports/device_port.h"

namespace stowage::session {

struct Facts {
  std::string reason;             ///< why the session is off, or holds a budget without a plan
  std::uint64_t iterations = 0;   ///< marks that counted
  std::uint64_t switched_at = 0;  ///< `iterations` at the first switch; 0: not yet
  bool from_start = false;        ///< the first plans serve from the job's first allocation on
  std::uint64_t replans = 0;
  std::uint64_t dropped_events = 0;
  Bytes peak_live_before{0};
  Bytes reserved_before{0};
  Bytes recording_excess{0};  ///< part of `reserved_before` that PyTorch's allocator alone would not take
  Bytes modelled{0};          ///< what expandable segments alone would have reserved; 0: not known
  Bytes peak_live_seen{0};    ///< in arena and upstream together, under a plan
  std::vector<Plan> plans;    ///< in use, without their entries
  std::vector<std::size_t> plan_entries;  ///< how many each has
  Bytes plans_height{0};                  ///< of all of them in one arena, and what none can be below
  Bytes plans_lower_bound{0};
  allocator::ServeCounts earlier;      ///< of arenas that the plans in use have moved out of
  std::shared_ptr<const Trace> trace;  ///< what the first plan in use was made from
  struct Since {
    const char* name;           ///< of a state; lives as long as the process
    std::uint64_t realtime_ns;  ///< CLOCK_REALTIME
  };
  std::vector<Since> phases;  ///< the session's states so far, in order
};

class SessionFacts {
 public:
  /// A copy of all of them.
  [[nodiscard]] Facts all() const;

  void count_iteration();
  /// Keeps the first reason.
  void give_reason(const std::string& reason);
  [[nodiscard]] bool has_reason() const;

  /// Notes upstream's use while no plan is followed; `dropped`: events that the recorder had no room for.
  void note_before(const UpstreamUse& use, std::uint64_t dropped);
  void note_peak_before(Bytes peak_live);
  /// Expandable segments alone would have reserved `modelled` for what was recorded. What recording reserved
  /// beyond that and `rounding` is not counted as the job's need.
  void note_modelled(Bytes modelled, Bytes rounding);
  [[nodiscard]] Bytes modelled() const;
  /// What the job needs without a plan. `live_seen`: what tensors held at one time under a plan; `lasting`:
  /// what the job came to keep under the plan, and would also keep without it.
  Bytes need(Bytes live_seen, Bytes lasting);

  void keep_trace(std::shared_ptr<const Trace> trace);
  [[nodiscard]] std::shared_ptr<const Trace> trace() const;
  /// The arena serves from now on, by plans or without.
  void note_switch();
  /// The plans in use move to another arena; `served`: counts of the one that they leave.
  void note_move(const allocator::ServeCounts& served);
  /// These plans are in use from now on, and no others.
  void use_plans(const JointPlan& plans);
  void forget_plans();
  /// The plans in use serve from the first allocation on; an earlier run needed `need` without a plan. Or,
  /// with false: they are left, and the job is recorded as if they had not been there; it has needed `need`
  /// so far.
  void begin_planned(bool planned, Bytes need);
  /// The session is in the state called `name` from now on; a state that it is in already changes nothing.
  void note_phase(const char* name);
  /// A copy of `trace` with the phases so far; the last one is that in which this is called.
  [[nodiscard]] Trace with_phases(const Trace& trace) const;
  /// The job left its plans. Returns how many times so far.
  std::uint64_t count_replan();

 private:
  void clear_plans();

  mutable std::mutex mutex_;
  Facts facts_;
};

}  // namespace stowage::session
