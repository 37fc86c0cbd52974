// Small changes to a list of actions, one after the other, as long as they make it cheaper.
//
// Sweeps bring back what an op wants when it wants it. In tight iterations it may pay to do so before, or to
// go another way: so actions are added, dropped, exchanged and moved to other ops at random. What costs more
// or holds more is taken now and then, ever less often (simulated annealing).
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <stop_token>

#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

/// `found`, or what adds less, after so many `changes`. Requires: it holds at most `budget` bytes.
[[nodiscard]] Found improve(const OpGraph& graph, std::uint64_t budget, const Found& found,
                            std::uint64_t changes, std::uint64_t seed, const std::stop_token& stop);

}  // namespace stowage::planner::schedule
