#include "planner/placement/search/search.h"

#include <algorithm>

#include "planner/placement/search/branching.h"
#include "planner/placement/search/restarts.h"

namespace stowage::planner::placement::search {

Outcome search(const Instance& instance, std::uint64_t capacity, const SearchOptions& options,
               WorkMeter& meter, Draft& draft) {
  draft.offsets.clear();
  const Model model = build_model(instance, options.reversed, meter.limits());
  if (meter.limits().stopped()) return Outcome::kOut;
  if (instance.obstacle_height() > capacity) return Outcome::kInfeasible;
  Restarts restarts(model, static_cast<Units>(capacity / model.unit), options);
  Outcome outcome = Outcome::kOut;
  while (outcome == Outcome::kOut && !meter.out()) outcome = restarts.next(meter);
  if (outcome == Outcome::kFound) restarts.write(instance, draft);
  return outcome == Outcome::kInfeasible && !instance.parts.empty() ? Outcome::kOut : outcome;
}

}  // namespace stowage::planner::placement::search
