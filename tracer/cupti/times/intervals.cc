#include "tracer/cupti/times/intervals.h"

#include <algorithm>

namespace stowage::tracer::cupti {

void normalize(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.begin <= intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
}

std::uint64_t length_of(const std::vector<Interval>& intervals) {
  std::uint64_t length = 0;
  for (const Interval& interval : intervals) length += interval.end - interval.begin;
  return length;
}

std::uint64_t common_length(const std::vector<Interval>& few, const std::vector<Interval>& many) {
  std::uint64_t length = 0;
  for (const Interval& one : few) {
    auto other = std::partition_point(many.begin(), many.end(),
                                      [&](const Interval& candidate) { return candidate.end <= one.begin; });
    for (; other != many.end() && other->begin < one.end; ++other)
      length += std::min(one.end, other->end) - std::max(one.begin, other->begin);
  }
  return length;
}

}  // namespace stowage::tracer::cupti
