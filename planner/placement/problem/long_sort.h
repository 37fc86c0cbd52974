// Sorting that can be stopped: a million elements take longer than a cancelled job should wait.
//
// Blocks are sorted one by one and merged pairwise, with a look at the stop after each stretch of some ten
// thousand elements. What fits in one block is sorted as std::sort does it.
//
// Thread safety: pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "planner/placement/problem/stretches.h"

namespace stowage::planner::placement {

/// Elements between two looks: a millisecond or two.
inline constexpr std::size_t kSortStretch = 1u << 14;

/// Merges [first, middle) and [middle, last) of `from` into the same places of `to`; false when `stopped()`.
template <class T, class Less, class Stopped>
bool merge_stretches(const std::vector<T>& from, std::vector<T>& to, std::size_t first, std::size_t middle,
                     std::size_t last, const Less& less, const Stopped& stopped) {
  std::size_t a = first, b = middle;
  for (std::size_t at = first; at < last;) {
    if (stopped()) return false;
    for (const std::size_t end = std::min(at + kSortStretch, last); at < end; ++at)
      to[at] = a < middle && (b == last || !less(from[b], from[a])) ? from[a++] : from[b++];
  }
  return true;
}

/// Sorts by `less`, equals in any order. False, with the elements in any order and some of them lost, once
/// `stopped()` says true; asks it often.
template <class T, class Less, class Stopped>
bool sort_unless(std::vector<T>& values, const Less& less, const Stopped& stopped) {
  const std::size_t count = values.size();
  const auto at = [&values](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  for (std::size_t from = 0; from < count; from += kSortStretch) {
    if (count > kSortStretch && stopped()) return false;
    std::sort(at(from), at(std::min(from + kSortStretch, count)), less);
  }
  if (count <= kSortStretch) return true;
  std::vector<T> merged;
  merged.reserve(count);
  if (!in_stretches(count, stopped, [&](std::size_t i) { merged.push_back(values[i]); })) return false;
  for (std::size_t run = kSortStretch; run < count; run *= 2) {
    for (std::size_t from = 0; from < count; from += 2 * run) {
      const std::size_t middle = std::min(from + run, count), last = std::min(from + 2 * run, count);
      if (!merge_stretches(values, merged, from, middle, last, less, stopped)) return false;
    }
    values.swap(merged);
  }
  return true;
}

}  // namespace stowage::planner::placement
