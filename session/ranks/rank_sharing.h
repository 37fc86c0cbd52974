// Plans that the ranks of a job make once for all of them: the makers that a session's planner threads run,
// and what came of it.
//
// Only the planner's thread talks to other ranks, never one of the job's. What it gets is decoded as a
// hostile file, and used only after the checks of planner/kinds/received_plans.h; otherwise, and wherever
// ranks do not answer, this rank plans for itself as if it were alone.
//
// Thread safety: any thread; one mutex, never held while anything else is called. Must outlive its makers'
// calls.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "planner/background.h"
#include "session/ports/torch_port.h"
#include "session/ranks/exchange.h"
#include "session/settings/settings.h"

namespace stowage::session {

/// All zero where there was nobody to share with.
struct SharingFacts {
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;     ///< of the group, as of the latest plan
  std::uint64_t made = 0;      ///< plans made here
  std::uint64_t received = 0;  ///< made by another rank, and used here
  std::uint64_t refused = 0;   ///< made by another rank, but not for this one's iterations
  std::uint64_t failures = 0;  ///< times that the store did not answer
  std::uint64_t looks = 0;     ///< for what another rank makes
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t waited_ns = 0;  ///< for what another rank makes, in the background
  std::string digest;           ///< of the latest problem: equal on ranks that share
};

class RankSharing {
 public:
  /// `torch` must outlive it.
  RankSharing(const Settings& settings, TorchPort& torch) : torch_(torch), on_(settings.share_plans) {}
  /// With other limits, for tests.
  RankSharing(TorchPort& torch, const ExchangeLimits& limits) : torch_(torch), on_(true), limits_(limits) {}

  /// make_plans(), or what another rank made.
  [[nodiscard]] planner::BackgroundPlanner::Maker plan_maker();
  [[nodiscard]] SharingFacts facts() const;

 private:
  Result<JointPlan> plan(const planner::Kinds& kinds, const planner::JointOptions& options,
                         const std::stop_token& stop);
  Result<JointPlan> plan_with(const RankGroup& group, const planner::Kinds& kinds,
                              const planner::JointOptions& options, const std::stop_token& stop);
  [[nodiscard]] std::optional<RankGroup> group() const;
  [[nodiscard]] ExchangeLimits limits_for(const planner::JointOptions& options) const;
  void note_group(const RankGroup& group, const std::string& digest);
  void count(std::uint64_t SharingFacts::*outcome);
  void note_exchange(const Exchange& exchange);

  TorchPort& torch_;
  const bool on_;
  const std::optional<ExchangeLimits> limits_;
  mutable std::mutex mutex_;
  SharingFacts facts_;
};

}  // namespace stowage::session
