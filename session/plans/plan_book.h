// The plans of a job: the kinds of iterations that are known, the plans in use, those that are being made in
// the background, and those that are kept between runs (plan_cache.h). Plans of the job's beginning
// (planner/kinds/opening.h) are known, but never among those in use: they serve once.
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "planner/kinds/kind_book.h"
#include "planner/kinds/opening.h"
#include "session/plans/plan_cache.h"
#include "session/plans/plan_source.h"
#include "session/plans/windows.h"
#include "session/settings/settings.h"

namespace stowage::session {

class PlanBook {
 public:
  /// Of the lower bound. A plan that is no further above it is used at once; a lower one may be looked for
  /// while it serves.
  static constexpr double kGoodEnough = 0.001;
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
  /// little above their lower bound. Forgets what was learned before. `has_beginning`: the trace shows the
  /// job from its first allocation on. Errors: as learn(); no thread could be started.
  Status make_first(const Trace& trace, bool has_beginning = false);
  /// Asks for plans of all kinds in place of those in use; `tenants` stay in the arena, of which streams have
  /// `claimed` already. Plans that are no higher than `tolerable` are used without a search for better ones.
  /// Those higher than `most` will not be used. Errors as make_first().
  Status make_anew(std::vector<planner::Tenant> tenants, std::vector<StreamRange> claimed = {},
                   Bytes tolerable = Bytes(0), std::optional<Bytes> most = {});
  /// Asks for lower ones than those in use, the first that are within `good_enough` of the bound (as a share
  /// of it), else the lowest that are found with the work of some `seconds` on a quiet machine; does nothing
  /// if no thread can be started.
  void make_lower(std::vector<planner::Tenant> tenants, std::vector<StreamRange> claimed, double good_enough,
                  double seconds);
  [[nodiscard]] bool makes_anew() const { return making_ == Making::kAnew; }
  [[nodiscard]] bool makes_lower() const { return making_ == Making::kLower; }
  /// The requested plans, if they are ready; waits for them at most `wait`. Returns each result once.
  std::optional<Result<JointPlan>> poll(std::chrono::milliseconds wait);
  /// Cancels what is being made.
  void cancel();
  /// As cancel(), and waits until no thread of the planner runs.
  void end() { source_.reset(); }

  // ---- in use

  /// These are used from now on, those of an opening only once.
  void use(JointPlan plans);
  [[nodiscard]] const JointPlan& in_use() const { return in_use_; }
  /// Those that came first were an earlier run's.
  [[nodiscard]] bool are_adopted() const { return adopted_; }
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

  // ---- from the first allocation on

  /// What an earlier run kept for the beginning of this job. use() its plans before the job allocates.
  std::optional<KeptPlans> find_opening();
  /// The plans in use began with the job.
  [[nodiscard]] bool began_planned() const { return !opening_.empty(); }
  /// The job does not follow its opening: forgets it, and the plans in use.
  void refuse_opening();
  /// The job followed its opening only roughly: the next run gets another one.
  void renew_opening() {
    cache_.refuse_opening();
    lacks_beginning_ = true;
  }
  /// A block of `rounded` bytes at `offset` lasts, by the opening's plans.
  [[nodiscard]] bool lasts(Offset offset, Bytes rounded) const;
  /// The plans in use were found by an iteration, and how the job began was not learned yet.
  [[nodiscard]] bool lacks_beginning() const { return lacks_beginning_; }
  /// `trace` shows the job from its first allocation on.
  void learn_beginning(const Trace& trace);
  /// Plans for the next run have to be made, unless somebody else has kept some. Quick.
  [[nodiscard]] bool next_is_due() const { return next_is_due_; }
  /// The same, looked up.
  [[nodiscard]] bool lacks_next() { return next_is_due_ && cache_.wants_opening(next_is_kept_); }
  /// What these plans are made of. Requires: lacks_next(), which is false from now on.
  struct Next {
    planner::NextKinds all;
    planner::JointOptions options;
    Bytes bound{0};  ///< of the kinds that are not the opening's
  };
  [[nodiscard]] Next ask_next();
  /// Saves them. `need`: what this run needed without a plan; 0: not known.
  void keep_next(JointPlan plans, Bytes need);

 private:
  enum class Making : std::uint8_t { kNothing, kFirst, kAnew, kLower };
  [[nodiscard]] std::vector<Plan> to_keep() const;
  [[nodiscard]] planner::JointOptions options_for(double good_enough, std::vector<planner::Tenant> tenants,
                                                  std::vector<StreamRange> claimed = {}) const;
  JointPlan take_opening(JointPlan plans);
  bool keep_opening();
  [[nodiscard]] std::vector<std::uint32_t> order_among(const std::vector<Plan>& plans) const;
  [[nodiscard]] bool spares_lasting(const PlanEntry& entry) const;
  /// As plans(), of iterations that are not the opening's.
  [[nodiscard]] bool repeats(std::uint64_t fingerprint) const;
  void learn_anew(const Trace& trace);
  void note_passed_on();
  Status submit(planner::JointOptions options, Making making);

  const Settings& settings_;
  const TraceInfo& info_;
  RankSharing* const sharing_;
  std::unique_ptr<PlanSource> source_;
  PlanCache cache_;
  Making making_ = Making::kNothing;
  planner::KindBook kinds_;
  JointPlan in_use_;
  bool adopted_ = false;  ///< they are an earlier run's, and of kinds_ only what they show is known
  std::optional<planner::Opening> next_opening_;  ///< what this run began with
  planner::KindBook next_kinds_;                  ///< all kinds, and the opening's
  bool lacks_beginning_ = false;
  bool next_is_due_ = false;
  bool next_is_kept_ = false;               ///< by this run
  KeptPlans began_with_;                    ///< without its plans
  std::vector<std::uint64_t> began_order_;  ///< fingerprints of the iterations that its plans are for
  std::vector<Plan> opening_;               ///< that this run began with
  std::set<std::pair<std::uint64_t, std::uint64_t>> lasting_;  ///< its lasting places: offset, bytes
  Bytes lasting_bytes_{0};
  std::optional<std::uint64_t> found_by_;  ///< fingerprint that the kept plans are found by in the next run
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> passed_on_;  ///< as outlives() says
};

}  // namespace stowage::session
