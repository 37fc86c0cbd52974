// The first placer: a portfolio of greedy orders, then priority boosting of the best, in parallel.
//
// Two rounds for each stream class. In the first every order is tried once; in the second the best drafts are
// boosted with several seeds, until many rounds in a row bring nothing. A capacity ends the search at the
// first placement that fits it (with several stream classes only for the last of them). Members run as TBB
// tasks and have ranks: the winner is the best-ranked one of least height, and a member that reaches the
// bound stops only those ranked after it. So the result does not depend on the number of threads or on who is
// faster; only a stop, a deadline or other limits change it.
//
// Stream classes are stacked from the largest to the smallest; each sees the addresses of those before it,
// and the fixed items of those after it, as held at all times.
//
// Thread safety: reentrant. May be called inside a TBB task.
#pragma once

#include <functional>

#include "planner/placement/problem/problem.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

struct GreedyOptions {
  Limits limits;
  int threads = 0;       ///< most threads to use, the caller included; 0: as many as TBB thinks right
  bool boosting = true;  ///< the second round
  /// How far above the bound, as a share of it, a height may be that ends the search.
  double tolerance = 0;
  bool online = true;        ///< best fit in order of birth, as the first answer
  bool folding = true;       ///< time cut into stretches, alike ones placed once, in large problems
  bool lowest_first = true;  ///< in both rounds
  bool first_fit = true;     ///< in both rounds; always on where nothing else can be used
  bool best_fit = true;      ///< in the first round
  /// Rounds of boosting without progress after which a member gives up; a tenth of it among obstacles, where
  /// the bound is out of reach as a rule and a round is dear.
  int patience = 250;
  /// Called in the calling thread, where there is one stream class, time is cut and the bound not reached:
  /// with what the online order and the cut one have found, before the slower ones begin, and with what all
  /// of them have, before boosting begins. May be empty.
  std::function<void(Solution&&)> on_stage{};
  bool check_fixed = true;  ///< false: the caller knows that fixed items do not overlap
  std::size_t orders = 5;   ///< how many orders each placer tries in the first round; at least 1
};

/// Places all items. Errors: kInvalidArgument (check_problem, or fixed items overlap), kCancelled. A
/// deadline does not cut the first draft. The result is to be checked with validator.h before it is
/// used.
Result<Solution> place_greedily(const Problem& problem, const GreedyOptions& options);

}  // namespace stowage::planner::placement
