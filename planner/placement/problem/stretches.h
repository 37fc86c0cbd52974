// Loops that can be stopped: a pass over a million elements takes longer than a cancelled job should wait.
//
// Thread safety: pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stowage::planner::placement {

/// Elements between two looks at the stop: a millisecond or two where each is a step into cold memory.
inline constexpr std::size_t kStretchLength = 1u << 15;

/// Calls `body(i)` for 0 <= i < count in order; false, early, once `stopped()` says true.
template <class Stopped, class Body>
bool in_stretches(std::size_t count, const Stopped& stopped, const Body& body) {
  for (std::size_t i = 0; i < count;) {
    if (stopped()) return false;
    for (const std::size_t end = std::min(i + kStretchLength, count); i < end; ++i) body(i);
  }
  return true;
}

/// Makes `values` that many zeroes; false, early, once `stopped()` says true. Fresh memory costs a page fault
/// for each few hundred of them.
template <class T, class Stopped>
bool zeroed_in_stretches(std::vector<T>& values, std::size_t count, const Stopped& stopped) {
  values.clear();
  values.reserve(count);
  while (values.size() < count) {
    if (stopped()) return false;
    values.resize(std::min(values.size() + 8 * kStretchLength, count));
  }
  return true;
}

}  // namespace stowage::planner::placement
