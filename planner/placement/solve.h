// The interface of placement: a problem in, the best offsets that the limits allow out.
//
// Greedy orders give a placement within milliseconds; exact search then looks for one at the lower bound, or
// at the capacity; bisection closes in on the least height; windows polish what is too large for that; proofs
// raise the bound. It stops at the first placement that fits where the problem has a capacity, and at a
// proved least height where it has none. Each technique is a switch.
//
// Anytime: better and better placements are shown on the way, and a limit that fires returns the best one.
//
// Thread safety: reentrant; may be called inside a TBB task. Deterministic for a given work limit and seed,
// with any number of threads; a time limit or a stop that fires may change the result.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "planner/placement/problem/problem.h"
#include "planner/placement/search/search.h"
#include "planner/placement/techniques.h"

namespace stowage::planner::placement {

struct PlaceOptions {
  std::uint64_t work_limit = 20'000'000'000;  ///< steps over all techniques, about 1 ns each
  double time_limit_s = 1e6;                  ///< seconds; at most 1e6. The first placement may take longer
  std::uint64_t seed = 1;                     ///< of all random choices
  SharedWork* shared_work = nullptr;          ///< also ends it, as the time limit does; null: none
  int threads = 0;                            ///< at once, the caller's included; 0: as TBB thinks right
  Techniques techniques;
  search::SearchOptions search;  ///< of exact search; its seed and direction vary from these on
  std::stop_token stop;
  /// Called in the calling thread with each better placement, the last one included. May be empty.
  std::function<void(const Solution&)> on_better;
  std::function<void(std::uint64_t)> on_look;  ///< as in Limits (work.h)
};

/// Places all items; the result is validated. Where the problem has a capacity and none was found that fits
/// it, the result is the lowest placement, above the capacity, with `conflict` if it is proved that none
/// fits. Errors: kInvalidArgument (options out of their bounds, check_problem, or fixed items overlap),
/// kCancelled, kInvalidPlan (the validator rejected our own result: a defect, contained).
[[nodiscard]] Result<Solution> place(const Problem& problem, const PlaceOptions& options);

/// True if the solution is within the problem's capacity, or the problem has none.
[[nodiscard]] bool fits(const Problem& problem, const Solution& solution);

}  // namespace stowage::planner::placement
