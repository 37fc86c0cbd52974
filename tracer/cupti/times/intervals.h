// Half-open stretches of time, and how long they are together.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace stowage::tracer::cupti {

/// [begin, end), begin <= end, in the ticks of one clock.
struct Interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Sorts, and joins what touches or overlaps, so that the result is disjoint and in order. O(n log n).
void normalize(std::vector<Interval>& intervals);

/// The length of normalized intervals.
std::uint64_t length_of(const std::vector<Interval>& intervals);

/// How long both run: the length of the intersection. Both normalized. O(n + m), less where one is short.
std::uint64_t common_length(const std::vector<Interval>& few, const std::vector<Interval>& many);

}  // namespace stowage::tracer::cupti
