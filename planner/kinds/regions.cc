#include "planner/kinds/regions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stowage::planner {
namespace {

using Ranges = std::vector<std::pair<Offset, Offset>>;

void add_united(std::uint32_t stream, Ranges ranges, placement::Problem& problem) {
  std::sort(ranges.begin(), ranges.end());
  const std::size_t first = problem.regions.size();
  for (const auto& [from, to] : ranges) {
    if (problem.regions.size() == first) {
      problem.regions.push_back({stream, from, to - from});
      continue;
    }
    placement::Region& last = problem.regions.back();
    const Offset end = last.begin + last.size;
    if (from > end) {
      problem.regions.push_back({stream, from, to - from});
    } else if (to > end) {
      last.size = to - last.begin;
    }
  }
}

}  // namespace

void keep_regions(const std::vector<Plan>& plans, const std::vector<StreamRange>& claimed,
                  placement::Problem& problem) {
  std::map<std::uint32_t, Ranges> ranges;
  for (const std::uint32_t stream : stream_classes(problem)) ranges[stream];
  for (const Plan& plan : plans) {
    for (const PlanEntry& entry : plan.entries) {
      for (const Offset offset : {entry.offset, entry.spare}) {
        if (offset != kUpstream) ranges[entry.stream.value()].emplace_back(offset, offset + entry.rounded);
      }
    }
  }
  for (const StreamRange& range : claimed) ranges[range.stream.value()].emplace_back(range.begin, range.end);
  if (ranges.size() < 2) return;
  for (auto& [stream, of_stream] : ranges) add_united(stream, std::move(of_stream), problem);
}

}  // namespace stowage::planner
