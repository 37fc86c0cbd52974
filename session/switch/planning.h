// Makes the job's first plan, from its recording to the mark at which the plan is ready; or finds the plan
// that an earlier run left.
//
// A plan is for a window of one or more marks. It is tried where such a window ends: at the mark that ended
// recording, which may wait for it so that the switch comes at a known iteration, and after each further
// window.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>
#include <optional>

#include "session/facts/session_facts.h"
#include "session/plans/plan_book.h"
#include "session/ports/device_port.h"
#include "session/recording/recording.h"
#include "session/reserved/reserved_guard.h"
#include "session/settings/settings.h"

namespace stowage::session {

class Planning {
 public:
  /// All must outlive it.
  Planning(const Settings& settings, DevicePort& port, Recording& recording, PlanBook& plans,
           ReservedGuard& guard, SessionFacts& facts)
      : settings_(settings),
        port_(port),
        recording_(recording),
        plans_(plans),
        guard_(guard),
        facts_(facts) {}

  /// The plan that an earlier run made for the last iteration that was recorded.
  std::optional<JointPlan> find_kept();
  /// The plans that an earlier run made for the job's beginning, and for what follows.
  std::optional<JointPlan> find_opening();
  /// What marks the iterations of an opening that was found.
  [[nodiscard]] MarkSource opening_marks() const { return opening_marks_; }
  /// The last iterations that were recorded agree: recording is finished, and a plan is wanted for them.
  void begin();
  /// Starts making it in the background. Error: no thread could be started. Requires: begin().
  Status ask();
  /// An iteration may have ended. Returns the plan, if one should be tried now. Error: there will be none.
  Result<std::optional<JointPlan>> on_mark();
  /// The device could not be waited for: tries `plans` again later.
  void put_off(JointPlan plans) { put_off_ = std::move(plans); }
  /// Marks of the window that the plan is for, at least 1.
  [[nodiscard]] std::uint32_t window_marks() const { return window_marks_; }

 private:
  void note_peak_before(const Trace& trace, Tick begin, Tick end);

  const Settings& settings_;
  DevicePort& port_;
  Recording& recording_;
  PlanBook& plans_;
  ReservedGuard& guard_;
  SessionFacts& facts_;
  std::uint32_t window_marks_ = 1;
  std::uint64_t marks_since_window_ = 0;
  MarkSource opening_marks_ = MarkSource::kOptimizer;
  std::optional<JointPlan> put_off_;  ///< ready, but a graph capture prevented mapping its arena
};

}  // namespace stowage::session
