// The least height of a tiny problem by trying all orders, which shares nothing with the placers.
#pragma once

#include <cstdint>

#include "planner/placement/problem/problem.h"

namespace stowage::planner::placement {

/// Bytes. Some order of placing each item at the lowest place that is free gives the least height, so all are
/// tried, but for those that are already no lower than the best. One stream class; no gaps; fixed items
/// first.
std::uint64_t exhaustive_height(const Problem& problem);

/// Live at one time, by the definition. Times are below 64.
bool meet_by_definition(const Problem& problem, std::size_t a, std::size_t b);

}  // namespace stowage::planner::placement
