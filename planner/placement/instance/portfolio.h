// Runs ranked members on one instance, in parallel and begun in order of rank, with a result that does not
// depend on timing.
//
// Thread safety: run_portfolio is reentrant; members must be pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/placement/instance/draft.h"
#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

/// One way to place an instance. Returns false, or leaves draft.offsets empty, if the meter stopped it
/// without a result.
struct Member {
  std::string name;
  std::function<bool(WorkMeter&, Draft&)> run;
};

struct PortfolioResult {
  Draft draft;
  std::size_t winner = 0;              ///< index of the member that made it
  std::vector<std::uint64_t> heights;  ///< by member, in bytes; UINT64_MAX where there was no result
  std::uint64_t work = 0;  ///< of the members up to the winner, or of all if the bound was not reached
};

/// Which members continue although the limits are over: all but a stop.
struct Privileged {
  std::size_t unlimited = 0;  ///< this many, from the first one on, have no work limit
  std::size_t patient = 0;    ///< this many have no deadline
};

/// The least height of all members, of equals the one that stands first. Empty if none has a result. `share`
/// is each member's work limit, to which the privileged are not held. A member that reaches the instance's
/// low_enough() stops those ranked after it.
std::optional<PortfolioResult> run_portfolio(const Instance& instance, const std::vector<Member>& members,
                                             const Limits& limits, std::uint64_t share,
                                             const Privileged& privileged, int threads);

/// Calls body(0 .. count-1), in parallel where threads can be had; `threads` as in GreedyOptions.
void for_each_rank(std::uint32_t count, int threads, const std::function<void(std::uint32_t)>& body);

}  // namespace stowage::planner::placement
