// From a greedy placement of one stream class to the best that the limits allow: exact search, bisection,
// windows, proofs, in this order.
//
// Thread safety: reentrant. Deterministic for a given work limit and seed, with any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "planner/placement/instance/draft.h"
#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/work.h"
#include "planner/placement/search/search.h"
#include "planner/placement/techniques.h"

namespace stowage::planner::placement {

struct RefineOptions {
  Limits limits;  ///< the work limit is that of all stages together
  std::uint64_t seed = 1;
  int threads = 0;
  Techniques techniques;
  search::SearchOptions search;
  std::optional<std::uint64_t> capacity;  ///< bytes: the first placement within it will do
  /// Called with each better draft and what made it; says whether it is good, as a draft that is not will be
  /// dropped. May be empty.
  std::function<bool(const Draft&, const std::string&)> on_better;
};

struct Refined {
  Draft draft;              ///< never higher than it came
  std::uint64_t bound = 0;  ///< no placement is lower, in bytes
  std::uint64_t work = 0;
  bool impossible = false;  ///< the capacity is proved to have no placement
};

/// Improves on `draft`, a complete placement of the instance.
Refined refine(const Instance& instance, Draft draft, const RefineOptions& options);

}  // namespace stowage::planner::placement
