// Plans kept in a folder between runs (STOWAGE_PLAN_CACHE), one file for each job and context.
//
// A file holds the plans of all kinds of iterations, placed together. Its name says by which of them it is
// found, and under which context (core/kept_plans.h) they were made. They are used only after the file was
// read in full, checked, and compared: its context with the job's, its entries with the requests of the
// iteration, one by one. Files that are damaged or not ours are left as they are. cache_folder.h says who may
// write there, how much is kept, and what becomes of failures.
//
// A job with an opening (planner/kinds/opening.h) has a second file, found by what the job is
// (Settings::command) before it has allocated anything. Ranks share it; one that it does not fit gets one of
// its own. With a budget there is none: what is evicted depends on more than the plans.
//
// Thread safety: the conductor's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/kept_plans.h"
#include "core/plan.h"
#include "core/trace.h"
#include "session/plans/cache_folder.h"
#include "session/plans/windows.h"
#include "session/settings/settings.h"

namespace stowage::session {

class PlanCache {
 public:
  /// Both must outlive it.
  PlanCache(const Settings& settings, const TraceInfo& info)
      : settings_(settings), info_(info), folder_(settings, info) {}

  /// True if find() may find something. Cheap: it reads names only. False for a job whose trace is wanted
  /// (STOWAGE_TRACE): that of a job which begins with a kept plan would not have a whole recording.
  bool may_find() noexcept;
  /// The plans of a job of which `window` of `trace` is an iteration: the first plan is for it. Nothing if
  /// there are none that can be used.
  std::optional<std::vector<Plan>> find(const Trace& trace, const Window& window) noexcept;
  /// Keeps `plans`, to be found by the first one's iterations. A file that exists stays as it is, since a
  /// usable one would have been used; unless it is of this job (`anew`), which knows better now. Requires:
  /// not empty.
  void store(const std::vector<Plan>& plans, bool anew) noexcept;
  /// Plans that the job begins with, and what they depend on. Nothing if there are none that can be used.
  std::optional<KeptPlans> find_opening() noexcept;
  /// What find_opening() returned does not fit this process: store_opening() replaces it.
  void refuse_opening() { refused_ = true; }
  /// False if store_opening() would do nothing.
  [[nodiscard]] bool wants_opening(bool anew) noexcept;
  /// Keeps plans with an opening; the context and the job's name are filled in. As store(), a file that
  /// exists stays, unless `anew`.
  void store_opening(KeptPlans kept, bool anew) noexcept;
  /// Removes what the next run would begin with.
  void forget_opening() noexcept;
  /// Removes what store() kept for the iterations of `plan`, which turned out not to be worth following.
  void forget(const Plan& plan) noexcept;

 private:
  [[nodiscard]] Result<KeptPlans> read(const format::PrivateFolder& folder, const std::string& name) const;
  void write(const format::PrivateFolder& folder, const std::string& name, const KeptPlans& kept);
  [[nodiscard]] bool keeps_openings() const;
  [[nodiscard]] std::string opening_name(bool of_rank) const;

  const Settings& settings_;
  const TraceInfo& info_;
  CacheFolder folder_;
  bool of_rank_ = false;  ///< the opening is, or will be, this rank's own
  bool refused_ = false;  ///< refuse_opening() was called
};

}  // namespace stowage::session
