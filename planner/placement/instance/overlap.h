// Which of many ranges of addresses, given with their lives, stand in each other's way: one sweep over time.
//
// Why: fixed items and offsets kept from an older plan come in thousands; comparing each with all others is
// quadratic. The validator has a sweep of its own, on purpose.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

/// Addresses in use during ranks [begin, end), half-open in both directions.
struct Claim {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  AddressRange addresses;
  std::uint32_t owner = 0;  ///< claims of one owner never stand in each other's way
  bool firm = false;        ///< goes before claims that are not
};

/// The owners that must give way, ascending, so that the claims of all others are disjoint: where two meet,
/// the one that is not firm, else the later one. Not the fewest possible; any if `limits` say stop. O(n log
/// n).
std::vector<std::uint32_t> giving_way(std::span<const Claim> claims, const Limits& limits = {});

}  // namespace stowage::planner::placement
