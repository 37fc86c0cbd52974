#include "planner/placement/instance/classes.h"

#include <algorithm>
#include <string>

#include "planner/placement/instance/overlap.h"

namespace stowage::planner::placement {
namespace {

bool only_class(const Problem& problem, std::uint32_t own) {
  return std::all_of(problem.items.begin(), problem.items.end(),
                     [own](const Item& item) { return item.stream_class == own; });
}

}  // namespace

std::vector<AddressRange> held_by_others(const Problem& problem, const Solution& solution,
                                         const std::vector<std::uint32_t>& done, std::uint32_t own) {
  std::vector<AddressRange> ranges;
  std::vector<AddressRange> all;
  if (done.empty() && problem.regions.empty() && only_class(problem, own)) return ranges;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    if (item.stream_class == own || !occupies(item)) continue;
    const bool placed = std::find(done.begin(), done.end(), item.stream_class) != done.end();
    if (!placed && !item.fixed) continue;
    const std::uint64_t offset = placed ? solution.offsets[i].value() : item.fixed->value();
    all.push_back({offset, offset + item.size.value()});
  }
  for (const Region& region : problem.regions) {
    if (region.stream_class == own || region.size.value() == 0) continue;
    all.push_back({region.begin.value(), region.begin.value() + region.size.value()});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (const AddressRange& next : all) {
    if (ranges.empty() || ranges.back().end < next.begin) {
      ranges.push_back(next);
    } else {
      ranges.back().end = std::max(ranges.back().end, next.end);
    }
  }
  return ranges;
}

Status check_obstacles(const Instance& instance, const Limits& limits) {
  std::vector<Claim> claims;
  for (std::uint32_t i = 0; i < instance.obstacles.size(); ++i) {
    const Obstacle& obstacle = instance.obstacles[i];
    const AddressRange range{obstacle.offset, obstacle.offset + obstacle.size};
    claims.push_back({obstacle.life.begin, obstacle.life.end, range, i, true});
    if (obstacle.life.wrapped_end != 0) claims.push_back({0, obstacle.life.wrapped_end, range, i, true});
  }
  const std::vector<std::uint32_t> overlapping = giving_way(claims, limits);
  if (overlapping.empty()) return {};
  return Error{ErrorCode::kInvalidArgument,
               "placement problem: fixed items overlap at offset " +
                   std::to_string(instance.obstacles[overlapping.front()].offset) +
                   "; leave one of them without a fixed offset"};
}

std::vector<Instance> instances_of(const Problem& problem, const std::vector<std::uint32_t>& classes,
                                   const Limits& limits) {
  std::vector<Instance> instances;
  instances.reserve(classes.size());
  for (std::uint32_t stream_class : classes)
    instances.push_back(build_instance(problem, stream_class, {}, limits));
  std::stable_sort(instances.begin(), instances.end(), [](const Instance& a, const Instance& b) {
    return a.obstacles.empty() != b.obstacles.empty() ? b.obstacles.empty() : a.live > b.live;
  });
  return instances;
}

Bytes least_height(const Problem& problem, const std::vector<Instance>& instances) {
  std::uint64_t least = 0;
  for (const Instance& instance : instances) least += instance.live;
  for (const Item& item : problem.items)
    least = std::max(least, item.size.value() + (item.fixed ? item.fixed->value() : 0));
  return Bytes(least);
}

}  // namespace stowage::planner::placement
