// From an order of pieces to offsets: the placers that every heuristic and search step is made of.
//
// Sources: first and best fit by decreasing size or lifetime are Gergov's and XLA's heap simulators'
// heuristics; lowest-first is the canonical order of minimalloc (Moffitt, ASPLOS 2023) followed greedily,
// which is also the best-fit skyline rule of strip packing (Burke et al., 2004) with the horizontal position
// given.
//
// Thread safety: pure functions. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/placement/greedy/skyline.h"
#include "planner/placement/instance/draft.h"
#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

enum class Fit { kFirst, kBest };

/// What comes first in an order. The rest breaks ties: size, then duration, then birth, then index.
enum class Key { kSize, kArea, kDuration, kBirth, kEnd };

/// All pieces, sorted: larger sizes, areas (bytes x duration) and durations first, earlier births first,
/// later ends first. For kBirth wrapped pieces come before all, since they are alive when the iteration
/// begins.
std::vector<std::uint32_t> sorted_order(const Instance& instance, Key key);
/// The same, in any order once the meter stops it.
std::vector<std::uint32_t> sorted_order(const Instance& instance, Key key, WorkMeter& meter);

/// Sorts indices by their keys, least first, equals as they stand. False, in any order, when the meter
/// stopped it.
bool sort_by_keys(std::vector<std::uint32_t>& order, const std::vector<std::uint64_t>& key_of,
                  WorkMeter& meter);

/// Places pieces one by one where they fit among those before them, and in their gaps. A piece with gaps
/// always takes the first fit, and ignores `fit`. False when the meter stopped it.
bool place_in_order(const Instance& instance, std::span<const std::uint32_t> order, Fit fit, WorkMeter& meter,
                    Draft& draft);

/// Always places the piece that can lie lowest on what is placed; among equals the one earlier in `order`.
/// Near O(n log n) if the instance is flat. Pieces with gaps are taken for solid ones. False when the meter
/// stopped it.
bool place_lowest_first(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter,
                        Draft& draft);

/// The same on a skyline of the caller's, which it raises. Requires: draft.offsets has a place for each
/// piece; draft.height is that of what is placed.
bool place_on_skyline(const Instance& instance, std::span<const std::uint32_t> order, Skyline& skyline,
                      WorkMeter& meter, Draft& draft);

}  // namespace stowage::planner::placement
