#include "planner/schedule/sweeps/sweep.h"

#include <algorithm>
#include <iterator>

#include "planner/schedule/sweeps/sweeper.h"

namespace stowage::planner::schedule {
namespace {

constexpr int kRounds = 4;  // the last one begins with what it may end with, and no more

}  // namespace

Sweep sweep(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest, const Weights& weights,
            const std::vector<Step>& first) {
  Sweeper::Ends ends{left_away(graph, first)};
  std::uint64_t work = 0;
  for (int round = 1;; ++round) {
    ends.closed = round == kRounds;
    Sweeper sweeper(graph, budget, smallest, weights, first, ends);
    Sweep swept = sweeper.run();
    swept.work = work += swept.work;
    const std::vector<std::uint32_t> left = sweeper.lasting_away();
    const bool same = std::includes(ends.away.begin(), ends.away.end(), left.begin(), left.end());
    if (swept.missing || same) return swept;
    std::vector<std::uint32_t> both;
    std::set_union(ends.away.begin(), ends.away.end(), left.begin(), left.end(), std::back_inserter(both));
    ends.away = std::move(both);
  }
}

}  // namespace stowage::planner::schedule
