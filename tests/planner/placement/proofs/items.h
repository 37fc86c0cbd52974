// Items of a placement problem by their bytes alone.
#pragma once

#include <cstdint>

#include "planner/placement/problem/problem.h"

namespace stowage::planner::placement {

inline Item item(std::uint64_t birth, std::uint64_t death, std::uint64_t size) {
  Item made;
  made.birth = birth;
  made.death = death;
  made.size = Bytes(size);
  made.alignment = Bytes(1);
  return made;
}

}  // namespace stowage::planner::placement
