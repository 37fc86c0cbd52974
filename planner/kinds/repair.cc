#include "planner/kinds/repair.h"

#include <algorithm>
#include <utility>

#include "planner/placement/replan.h"

namespace stowage::planner {
namespace {

using placement::Item;
using placement::Problem;
using placement::Region;

/// Addresses of one stream class, at all times.
std::vector<Region> held_by_classes(const Problem& problem) {
  std::vector<Region> held = problem.regions;
  for (const Item& item : problem.items) {
    if (item.fixed && occupies(item)) held.push_back({item.stream_class, *item.fixed, item.size});
  }
  return held;
}

/// Those that lie where another class is are nowhere.
void leave_to_others(const Problem& problem, Former& were) {
  if (stream_classes(problem).size() < 2 && problem.regions.empty()) return;
  const std::vector<Region> held = held_by_classes(problem);
  for (std::size_t i = 0; i < were.size(); ++i) {
    const Item& item = problem.items[i];
    const bool taken = were[i] && std::any_of(held.begin(), held.end(), [&](const Region& region) {
                         return region.stream_class != item.stream_class &&
                                region.begin < *were[i] + item.size && *were[i] < region.begin + region.size;
                       });
    if (taken && !item.fixed) were[i].reset();
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

Bytes former_height(const Problem& problem, const Former& were) {
  Bytes height{0};
  for (std::size_t i = 0; i < were.size(); ++i) {
    if (were[i]) height = std::max(height, Bytes((*were[i] + problem.items[i].size).value()));
  }
  return height;
}

}  // namespace stowage::planner
