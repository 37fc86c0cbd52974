#include "allocator/layout/stream_regions.h"

#include <algorithm>
#include <string>
#include <utility>

namespace stowage::allocator {

// Unites [begin, end) with the regions that it overlaps; false if one of them is another stream's.
bool StreamRegions::add(std::map<std::uint64_t, Region>& regions, std::uint64_t begin, Region region) {
  auto at = regions.upper_bound(begin);
  if (at != regions.begin() && std::prev(at)->second.end > begin) --at;
  while (at != regions.end() && at->first < region.end) {
    if (at->second.stream != region.stream) return false;
    begin = std::min(begin, at->first);
    region.end = std::max(region.end, at->second.end);
    at = regions.erase(at);
  }
  regions.emplace(begin, region);
  return true;
}

Status StreamRegions::admit(const std::vector<Plan>& plans) {
  std::map<std::uint64_t, Region> united = regions_;
  for (const Plan& plan : plans) {
    for (std::size_t i = 0; i < plan.entries.size(); ++i) {
      const PlanEntry& entry = plan.entries[i];
      for (const Offset offset : {entry.offset, entry.spare}) {
        if (offset == kUpstream) continue;
        if (add(united, offset.value(), {(offset + entry.rounded).value(), entry.stream.value()})) continue;
        return Error{ErrorCode::kInvalidPlan,
                     "entry " + std::to_string(i) +
                         " of the plan lies where this arena serves another stream than " +
                         std::to_string(entry.stream.value()) + ": map a new arena for it"};
      }
    }
  }
  regions_ = std::move(united);
  return {};
}

bool StreamRegions::claim(std::uint64_t begin, std::uint64_t end, StreamId stream) {
  auto at = regions_.upper_bound(begin);
  if (at != regions_.begin() && std::prev(at)->second.end > begin) --at;
  if (at != regions_.end() && at->first <= begin && at->second.end >= end)
    return at->second.stream == stream.value();
  std::map<std::uint64_t, Region> united = regions_;
  if (!add(united, begin, {end, stream.value()})) return false;
  regions_ = std::move(united);
  return true;
}

std::vector<StreamRange> StreamRegions::ranges() const {
  std::vector<StreamRange> found;
  found.reserve(regions_.size());
  for (const auto& [begin, region] : regions_)
    found.push_back({StreamId(region.stream), Offset(begin), Offset(region.end)});
  return found;
}

}  // namespace stowage::allocator
