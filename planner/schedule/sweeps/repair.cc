#include "planner/schedule/sweeps/repair.h"

#include <algorithm>
#include <vector>

namespace stowage::planner::schedule {
namespace {

constexpr int kRepairs = 48;

bool is_before(const Step& one, const Step& other) { return one.op < other.op; }

// The restore that failed is done before the ops' other inputs are, or, where it was, one op earlier. False:
// there is no earlier op.
bool do_earlier(const Step& failed, std::vector<Step>& first) {
  const auto known = std::find_if(first.begin(), first.end(), [&](const Step& step) {
    return step.op == failed.op && step.buffer == failed.buffer;
  });
  if (known == first.end()) {
    first.push_back(failed);
  } else if (known->op == 0) {
    return false;
  } else {
    --known->op;
  }
  std::stable_sort(first.begin(), first.end(), is_before);
  return true;
}

}  // namespace

Sweep sweep_with_repairs(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest,
                         const Weights& weights, std::uint64_t most_work) {
  std::vector<Step> first;
  std::uint64_t work = 0;
  for (int i = 0;; ++i) {
    Sweep swept = sweep(graph, budget, smallest, weights, first);
    work += swept.work;
    swept.work = work;
    if (!swept.failed || i == kRepairs || work >= most_work || !do_earlier(*swept.failed, first))
      return swept;
  }
}

}  // namespace stowage::planner::schedule
