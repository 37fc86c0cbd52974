// Placement problems for tests: from files, and random ones that use every property a problem can have.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "planner/placement/problem/problem.h"

namespace stowage::planner::placement {

/// Reads benchmarks/instances/<name>.csv.
Problem read_problem(const std::string& name);

/// What a random problem may have.
struct Shape {
  std::size_t items = 10;
  std::uint64_t max_size = 20;  ///< in units of `alignment`
  std::uint64_t horizon = 12;   ///< last time, or the period
  std::uint64_t alignment = 1;
  bool cyclic = false;  ///< the horizon is a period and lives may wrap
  std::uint32_t classes = 1;
  double empty = 0;          ///< share of items without bytes or time
  double odd_alignment = 0;  ///< share of items with another alignment
  double gaps = 0;           ///< share of items with one or two gaps
};

Problem random_problem(const Shape& shape, std::mt19937_64& random);

/// Gives an item of two ticks or more one or two gaps, some with bytes that stay in use. Call in order of
/// item.
void add_gaps(Problem& problem, std::uint32_t item, std::mt19937_64& random);

/// The bytes [first, second) of the item that are in use at `time`, 0 <= time < period if there is one; by
/// the definition. Empty: (0, 0).
std::pair<std::uint64_t, std::uint64_t> used_at(const Problem& problem, std::size_t item, std::uint64_t time);

/// Fixes some items where `solution` put them, so that the problem stays solvable.
void fix_some(Problem& problem, const Solution& solution, std::mt19937_64& random);

/// All items alone, one above the other: a solution of any problem without fixed items.
Solution stacked(const Problem& problem);

}  // namespace stowage::planner::placement
