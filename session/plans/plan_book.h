// The plans of a job: the kinds of iterations that are known, the plans in use, those that are being made in
// the background, and those that are kept between runs (plan_cache.h).
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/kinds/kind_book.h"
#include "session/plans/plan_cache.h"
#include "session/plans/plan_source.h"
#include "session/plans/windows.h"
#include "session/settings/settings.h"

namespace stowage::session {

class PlanBook {
 public:
  /// `source`: null for the background planner, whose plans other ranks share by `sharing`, or nobody where
  /// it is null. The others must outlive it.
  PlanBook(const Settings& settings, const TraceInfo& info, std::unique_ptr<PlanSource> source,
           RankSharing* sharing = nullptr)
      : settings_(settings),
        info_(info),
        sharing_(sharing),
        source_(std::move(source)),
        cache_(settings, info) {}

  // ---- kinds of iterations

  /// Learns the lifetimes of all kinds that have a plan or are wanted, as far as `trace` shows them. Error:
  /// events were dropped.
  Status learn(const Trace& trace, const planner::KindBook::Wanted& wanted);
  /// Iterations of `fingerprint` have a plan, or are getting one.
  [[nodiscard]] bool plans(std::uint64_t fingerprint) const;
  [[nodiscard]] std::size_t count_kinds() const { return kinds_.size(); }

  // ---- making

  /// Asks for the first plans, of all kinds in the steady window of `trace` or twice in it, which may be a
  /// little above their lower bound. Forgets what was learned before. Errors: as learn(); no thread could be
  /// started.
  Status make_first(const Trace& trace);
  /// Asks for plans of all kinds in place of those in use; `tenants` stay in the arena, of which streams have
  /// `claimed` already. Errors as make_first().
  Status make_anew(std::vector<planner::Tenant> tenants, std::vector<StreamRange> claimed = {});
  /// Asks for lower ones than those in use; does nothing if no thread can be started.
  void make_lower(std::vector<planner::Tenant> tenants, std::vector<StreamRange> claimed = {});
  [[nodiscard]] bool makes_anew() const { return making_ == Making::kAnew; }
  [[nodiscard]] bool makes_lower() const { return making_ == Making::kLower; }
  /// The requested plans, if they are ready; waits for them at most `wait`. Returns each result once.
  std::optional<Result<JointPlan>> poll(std::chrono::milliseconds wait);
  /// Cancels what is being made.
  void cancel();
  /// As cancel(), and waits until no thread of the planner runs.
  void end() { source_.reset(); }

  // ---- in use

  void use(JointPlan plans);
  [[nodiscard]] const JointPlan& in_use() const { return in_use_; }
  /// The places of buffers that an iteration passes on to the next one, ascending.
  [[nodiscard]] std::vector<std::uint64_t> crossing_offsets() const;
  /// Most iterations' ends that a block of `rounded` bytes at `offset` was seen to live through, by plan; 0:
  /// no plan passes on anything there.
  [[nodiscard]] std::uint32_t outlives(Offset offset, Bytes rounded) const;
  /// The most of all blocks of the kinds that were learned.
  [[nodiscard]] std::uint32_t outlives_at_most() const { return kinds_.outlived_at_most(); }

  // ---- between runs

  struct Kept {
    std::vector<Plan> plans;  ///< the first one is for the window
    Window window;            ///< of the trace
    std::uint32_t marks = 1;  ///< that the window holds
  };
  /// False if find_kept() would find nothing, whatever the trace. Cheap.
  [[nodiscard]] bool may_find_kept() { return cache_.may_find(); }
  /// The plans of an earlier run for a job that ends like `trace`. A file that cannot be used is a warning.
  std::optional<Kept> find_kept(const Trace& trace);
  /// Saves the plans in use, if plans are to be kept; again whenever they have changed.
  void keep();
  /// Removes the kept plans in use: the job's next run should not begin with them.
  void forget_kept();

 private:
  enum class Making : std::uint8_t { kNothing, kFirst, kAnew, kLower };
  [[nodiscard]] std::vector<Plan> to_keep() const;
  Status submit(planner::JointOptions options, Making making);

  const Settings& settings_;
  const TraceInfo& info_;
  RankSharing* const sharing_;
  std::unique_ptr<PlanSource> source_;
  PlanCache cache_;
  Making making_ = Making::kNothing;
  planner::KindBook kinds_;
  JointPlan in_use_;
  std::optional<std::uint64_t> found_by_;  ///< fingerprint that the kept plans are found by in the next run
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> passed_on_;  ///< as outlives() says
};

}  // namespace stowage::session
