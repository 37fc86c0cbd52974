// The search as a portfolio: several orders, rules and directions of time at once, at one capacity or at
// many.
//
// Members run in rounds of one restart each, in parallel within a round. Of the members that end a round with
// an answer the one of lowest rank counts, and those ranked after it are stopped. So the result is the same
// for any number of threads; only a stop or a deadline changes it.
//
// minimise() begins at the lower bound. While that is open it tries capacities between the bound and the best
// height so far, with effort that doubles each time around; a capacity that is proved too small raises the
// bound. It ends when the two meet.
//
// Thread safety: reentrant. May be called inside a TBB task; callbacks come from the calling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "planner/placement/search/search.h"

namespace stowage::planner::placement::search {

struct PortfolioOptions {
  SearchOptions search;       ///< what all members start from
  std::uint32_t members = 6;  ///< at least 1; part of the result, unlike `threads`
  bool glue = true;           ///< some members take pieces that live at the same times for one
  int threads = 0;            ///< most threads to use, the caller included; 0: as many as TBB thinks right
};

struct Found {
  Outcome outcome = Outcome::kOut;
  Draft draft;             ///< with offsets if kFound
  std::uint64_t work = 0;  ///< as in work.h
};

/// Looks for a placement within `capacity` bytes; outcomes as in search(). Requires: supports(instance,
/// capacity).
Found find(const Instance& instance, std::uint64_t capacity, const PortfolioOptions& options,
           const Limits& limits);

struct MinimiseOptions {
  PortfolioOptions portfolio;
  std::uint64_t lower_bound = 0;  ///< bytes; what is known besides the instance's own bound
  /// Bytes; a placement of this height is known, and only lower ones are of use.
  std::uint64_t upper_bound = std::numeric_limits<std::uint64_t>::max();
  std::function<void(const Draft&)> on_better;  ///< called with each draft that is lower than all before it
};

struct Minimised {
  Draft draft;                    ///< the lowest found; no offsets if none is lower than upper_bound
  std::uint64_t lower_bound = 0;  ///< proved, in bytes; the draft's height if that is optimal
  std::uint64_t work = 0;
};

/// Looks for the lowest placement. With upper_bound == lower_bound in the result, but no draft, what the
/// caller knew is optimal. Requires: supports(instance, the upper bound, or the sum of all sizes if that is
/// less).
Minimised minimise(const Instance& instance, const MinimiseOptions& options, const Limits& limits);

}  // namespace stowage::planner::placement::search
