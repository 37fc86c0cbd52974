// Exchanges the plans in use for better ones while the job runs: when further kinds of iterations were
// learned, when tensors occupy the plans' places for good, or when a lower placement was found.
//
// All kinds are planned together in the background (planner/joint_planner.h), around tensors that stay, and
// exchanged at an iteration's end, in the same arena. Tensors stay where they are. Iterations in which rescue
// evicts on demand are of no kind.
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan.h"
#include "session/arena/served_arena.h"
#include "session/budget/budget_controller.h"
#include "session/facts/session_facts.h"
#include "session/planned/outstayed_watch.h"
#include "session/planned/search_allowance.h"
#include "session/planned/served_iterations.h"
#include "session/plans/plan_book.h"
#include "session/ports/device_port.h"
#include "session/recording/learner.h"
#include "session/recording/recording.h"
#include "session/reserved/device_room.h"
#include "session/reserved/reserved_guard.h"
#include "session/settings/settings.h"

namespace stowage::session {

class Replanning {
 public:
  static constexpr std::uint64_t kPatience = 2;  ///< iterations in a row that find planned places in use

  /// All must outlive it.
  Replanning(const Settings& settings, DevicePort& port, const BudgetController& budget, ServedArena& arena,
             PlanBook& plans, Recording& recording, Learner& learner, ReservedGuard& guard, DeviceRoom& room,
             SessionFacts& facts)
      : settings_(settings),
        port_(port),
        budget_(budget),
        arena_(arena),
        plans_(plans),
        recording_(recording),
        learner_(learner),
        guard_(guard),
        room_(room),
        facts_(facts) {}

  /// `first` are the only plans in use.
  void begin(const JointPlan& first);
  /// The arena or its plans have changed otherwise: starts learning again. `records_on`: what is recorded
  /// already is kept.
  void restart(bool records_on = false);
  /// The plans in use leave what stays in the arena now where it is.
  void expect_lasting() { around_ = tenants(); }
  /// Plans that may mend what is off the plan now are being made.
  [[nodiscard]] bool is_making() const { return plans_.makes_anew(); }
  /// Asks for lower plans than those in use, if they could save memory and once a search costs little of the
  /// job's time. Asks again when the job has run twice as long.
  void ask_lower();
  /// `ended` did. Where it asks for plans it waits for them as for the first ones. True: other plans are in
  /// use from now on.
  bool on_iteration(const ServedIteration& ended);

 private:
  [[nodiscard]] std::vector<planner::Tenant> tenants() const;
  bool is_in_the_way(std::uint64_t displaced);
  bool ask(Bytes reserved);
  bool take(Bytes reserved);
  bool use(JointPlan made, Bytes reserved);
  /// Of plans around these tensors, if these simply come on top of those in use.
  [[nodiscard]] Bytes expected(const std::vector<planner::Tenant>& around) const;
  /// The same, or what the job can afford.
  [[nodiscard]] Bytes tolerable(const std::vector<planner::Tenant>& around, Bytes reserved);
  /// Higher plans around these tensors would not be used.
  [[nodiscard]] std::optional<Bytes> most(const std::vector<planner::Tenant>& around, Bytes reserved);
  [[nodiscard]] bool is_over_budget(const JointPlan& made) const;
  [[nodiscard]] bool is_worse(const JointPlan& made, Bytes reserved);
  Status put_in(const JointPlan& made, bool only_more);
  /// Idle memory of the arena above plans of this height goes back to the device.
  void give_back_above(Bytes height);
  [[nodiscard]] Bytes in_pages(Bytes height) const;

  const Settings& settings_;
  DevicePort& port_;
  const BudgetController& budget_;
  ServedArena& arena_;
  PlanBook& plans_;
  Recording& recording_;
  Learner& learner_;
  ReservedGuard& guard_;
  DeviceRoom& room_;
  SessionFacts& facts_;
  OutstayedWatch outstayed_{kPatience};
  SearchAllowance allowance_{settings_.plan_seconds};
  std::uint64_t iterations_ = 0;         ///< since restart()
  std::uint64_t until_trimmed_ = 0;      ///< iterations, after other plans came into use
  std::uint64_t displaced_ = 0;          ///< requests, when the last iteration ended
  std::chrono::milliseconds wait_{0};    ///< still to be waited, once, for the plans that were asked for
  std::vector<planner::Tenant> around_;  ///< what the latest plans were asked to leave where it is
};

}  // namespace stowage::session
