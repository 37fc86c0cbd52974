// A problem's stream classes as instances that are placed one after the other, each around what the others
// hold.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/problem.h"

namespace stowage::planner::placement {

/// One instance for each stream class: those with fixed items first, since the others can give way; then the
/// larger ones. Not to be used after a stop.
std::vector<Instance> instances_of(const Problem& problem, const std::vector<std::uint32_t>& classes,
                                   const Limits& limits);

/// What the classes other than `own` hold: all that is placed of `done`, what is fixed of the others, and
/// their regions.
std::vector<AddressRange> held_by_others(const Problem& problem, const Solution& solution,
                                         const std::vector<std::uint32_t>& done, std::uint32_t own);

/// Error: kInvalidArgument, where fixed items overlap.
Status check_obstacles(const Instance& instance, const Limits& limits);

/// What lower_bound() says, from the instances.
Bytes least_height(const Problem& problem, const std::vector<Instance>& instances);

}  // namespace stowage::planner::placement
