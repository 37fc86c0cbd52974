#include "planner/kinds/repair.h"

#include <algorithm>
#include <utility>

#include "planner/placement/instance/classes.h"
#include "planner/placement/replan.h"

namespace stowage::planner {
namespace {

using placement::AddressRange;
using placement::Item;
using placement::Problem;

/// Those that lie where another class is are nowhere.
void leave_to_others(const Problem& problem, Former& were) {
  for (const std::uint32_t own : stream_classes(problem)) {
    const std::vector<AddressRange> held = placement::held_by_others(problem, {}, {}, own);
    for (std::size_t i = 0; i < were.size() && !held.empty(); ++i) {
      const Item& item = problem.items[i];
      if (!were[i] || item.stream_class != own || item.fixed) continue;
      const std::uint64_t begin = were[i]->value(), end = begin + item.size.value();
      const bool taken = std::any_of(held.begin(), held.end(), [&](const AddressRange& range) {
        return range.begin < end && begin < range.end;
      });
      if (taken) were[i].reset();
    }
  }
}

}  // namespace

Result<placement::Solution> repair(const Problem& problem, Former were, Bytes enough,
                                   const placement::Limits& limits) {
  leave_to_others(problem, were);
  placement::ReplanOptions options;
  options.greedy.limits = limits;
  options.tolerance = 0;
  options.last_step = 2;
  Result<placement::Replanned> made = replan(problem, {std::move(were), {}}, enough, options);
  if (!made.ok()) return made.error();
  return std::move(made->solution);
}

}  // namespace stowage::planner
