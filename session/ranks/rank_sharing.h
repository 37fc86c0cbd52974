// Plans and schedules that the ranks of a job make once for all of them: the makers that a session's planner
// threads run, and what came of it.
//
// Only planners' threads talk to other ranks, never one of the job's. What they get is decoded as a hostile
// file, and used only after the checks of planner/kinds/received_plans.h and
// planner/schedule/received_schedule.h; otherwise, and wherever ranks do not answer, this rank plans for
// itself as if it were alone.
//
// Thread safety: any thread; one mutex, never held while anything else is called. Must outlive its makers'
// calls.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "planner/background.h"
#include "planner/schedule/background.h"
#include "session/ports/torch_port.h"
#include "session/ranks/exchange.h"
#include "session/settings/settings.h"

namespace stowage::session {

/// What became of the plans, or of the schedules, that this rank asked for.
struct SharedWork {
  std::uint64_t made = 0;      ///< here
  std::uint64_t received = 0;  ///< made by another rank, and used here
  std::uint64_t refused = 0;   ///< made by another rank, but it does not fit this one's iterations
};

/// All zero where there was nobody to share with.
struct SharingFacts {
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;  ///< of the group, as of the latest problem
  SharedWork plans;
  SharedWork schedules;
  std::uint64_t failures = 0;  ///< times that the store did not answer
  std::uint64_t looks = 0;     ///< for what another rank makes
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t waited_ns = 0;  ///< for what another rank makes, in the background
  std::string digest;           ///< of the latest plans: equal on ranks that share
};

class RankSharing {
 public:
  /// `torch` must outlive it.
  RankSharing(const Settings& settings, TorchPort& torch) : torch_(torch), on_(settings.share_plans) {}
  /// With other limits, for tests.
  RankSharing(TorchPort& torch, const ExchangeLimits& limits) : torch_(torch), on_(true), limits_(limits) {}

  /// make_plans(), or what another rank made.
  [[nodiscard]] planner::BackgroundPlanner::Maker plan_maker();
  /// BackgroundScheduler::make(), or what another rank made; that is offered once, and whoever asks for the
  /// same again gets one that is made here.
  [[nodiscard]] planner::schedule::BackgroundScheduler::Maker schedule_maker();
  [[nodiscard]] SharingFacts facts() const;

 private:
  /// How one sort of work is done and told.
  template <class Made>
  struct Work {
    std::string name;          ///< in the store
    std::string noun;          ///< for messages
    bool even_unasked = true;  ///< as Exchange::publish()
    bool for_itself = false;   ///< whatever others made
    double longest_s = 0;      ///< that it may take
    SharedWork SharingFacts::*counts = nullptr;
    std::function<Result<Made>()> make;
    std::function<Exchange::Value(const Made&)> encode;
    std::function<Result<Made>(const Exchange::Value&)> decode;
  };
  template <class Made>
  Result<Made> share(const Work<Made>& work, const std::stop_token& stop);
  template <class Made>
  Result<Made> make_here(const Work<Made>& work);
  template <class Made>
  Result<Made> share_with(const RankGroup& group, const Work<Made>& work, const std::stop_token& stop);
  Result<JointPlan> plan(const planner::Kinds& kinds, const planner::JointOptions& options,
                         const std::stop_token& stop);
  Result<Schedule> schedule(const StepLog& log, Bytes budget, planner::schedule::Effort effort,
                            const std::stop_token& stop);

  [[nodiscard]] std::optional<RankGroup> group() const;
  [[nodiscard]] ExchangeLimits limits_for(double longest_s) const;
  void note_group(const RankGroup& group);
  void note_digest(const std::string& digest);
  /// A schedule of this name is asked for the first time.
  [[nodiscard]] bool is_new(const std::string& name);
  void count(SharedWork SharingFacts::*of, std::uint64_t SharedWork::*outcome);
  void note_exchange(const Exchange& exchange);

  TorchPort& torch_;
  const bool on_;
  const std::optional<ExchangeLimits> limits_;
  mutable std::mutex mutex_;
  std::set<std::string> asked_for_;  ///< names of schedules
  SharingFacts facts_;
};

}  // namespace stowage::session
