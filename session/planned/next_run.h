// Makes the plans that the next run of the job begins with, once those of this run are in use, and keeps them
// (PlanBook, plan_cache.h). They are made in the background like all plans, but by a planner of their own,
// and only while this run wants no other plans.
//
// Not kept is what would take more memory than this run needs without a plan.
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "session/arena/served_arena.h"
#include "session/facts/session_facts.h"
#include "session/plans/plan_book.h"
#include "session/plans/plan_source.h"
#include "session/ports/device_port.h"
#include "session/recording/recording.h"
#include "session/reserved/reserved_guard.h"
#include "session/settings/settings.h"

namespace stowage::session {

class NextRun {
 public:
  static constexpr std::uint64_t kBegun =
      8;  ///< iterations by plans that were found, before what lasts is known
  static constexpr std::uint64_t kSettled = 8;  ///< iterations, after plans were made for a next run once

  /// All must outlive it.
  NextRun(const Settings& settings, DevicePort& port, const Recording& recording, PlanBook& plans,
          ReservedGuard& guard, const ServedArena& arena, SessionFacts& facts)
      : settings_(settings),
        port_(port),
        recording_(recording),
        plans_(plans),
        guard_(guard),
        arena_(arena),
        facts_(facts) {}

  /// An iteration ended, by the plans in use.
  void on_iteration();
  /// The job ends: waits for what is being made, or has to be, as long as for other plans, or for a small
  /// share of the job's time, if that is more.
  void finish();
  /// The plans in use are left.
  void cancel();

 private:
  void learn_beginning();
  void ask();
  void take(std::chrono::milliseconds wait);
  void drop();
  void keep(const JointPlan& plans);
  /// How long the job's end may wait.
  [[nodiscard]] std::chrono::milliseconds patience() const;

  const Settings& settings_;
  DevicePort& port_;
  const Recording& recording_;
  PlanBook& plans_;
  ReservedGuard& guard_;
  const ServedArena& arena_;
  SessionFacts& facts_;
  std::unique_ptr<PlanSource> source_;
  std::optional<PlanBook::Next> asked_;  ///< what is being made
  std::optional<Bytes> least_outside_;   ///< that tensors held outside the arena when an iteration ended
  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  std::uint64_t asked_times_ = 0;
  std::uint64_t begun_ = 0;    ///< iterations by plans that were found
  std::uint64_t settled_ = 0;  ///< iterations since plans for a next run are lacking
};

}  // namespace stowage::session
