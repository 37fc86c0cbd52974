// How long planning may take, and which plan is good enough.
#pragma once

#include <cstdint>
#include <limits>

namespace stowage::planner {

struct PlanOptions {
  /// Upper limit of work over all techniques, in steps: one placed buffer looked at while another one's place
  /// is sought, about 1 ns each. The first technique is never cut short by it, so there is always a plan.
  std::uint64_t work_limit = 400'000'000;
  /// As `time_limit_s`, in steps over all placements together, so that a busy machine searches as much as a
  /// quiet one. Plans with twins and those without (planner/kinds/twins.h) count apart.
  std::uint64_t total_work = std::numeric_limits<std::uint64_t>::max();
  /// Seconds after which the best plan so far is returned even if work is left. A safety net: at the default
  /// work limit it does not fire on machines of today.
  double time_limit_s = 2.0;
  /// A placement so little above the lower bound will do, as a share of the bound: it is returned as soon as
  /// it is found. 0: the least height is sought until a limit fires. At least 0.
  double good_enough = 0;
  /// Threads that search at once, the calling one included; 0: as many as TBB thinks right. Never changes the
  /// plan.
  int threads = 0;
};

}  // namespace stowage::planner
