#include "planner/placement/instance/overlap.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>

#include "planner/placement/problem/long_sort.h"

namespace stowage::planner::placement {
namespace {

/// Live claims, disjoint, by address.
class Sweep {
 public:
  explicit Sweep(std::span<const Claim> claims) : claims_(claims) {}

  void begin(std::uint32_t index) {
    const Claim& claim = claims_[index];
    if (gone_.contains(claim.owner)) return;
    for (auto met = first_met(claim); met != live_.end() && met->first < claim.addresses.end;) {
      const Claim& other = claims_[met->second];
      if (gone_.contains(other.owner) || (claim.firm && !other.firm)) {
        gone_.insert(other.owner);
        met = live_.erase(met);
      } else {
        gone_.insert(claim.owner);
        return;
      }
    }
    live_.emplace(claim.addresses.begin, index);
  }
  void end(std::uint32_t index) {
    const auto found = live_.find(claims_[index].addresses.begin);
    if (found != live_.end() && found->second == index) live_.erase(found);
  }
  [[nodiscard]] std::vector<std::uint32_t> gone() const {
    std::vector<std::uint32_t> owners(gone_.begin(), gone_.end());
    std::sort(owners.begin(), owners.end());
    return owners;
  }

 private:
  using Live = std::map<std::uint64_t, std::uint32_t>;  // claim by where its addresses begin

  Live::iterator first_met(const Claim& claim) {
    auto met = live_.lower_bound(claim.addresses.begin);
    if (met != live_.begin()) {
      const auto below = std::prev(met);
      if (claims_[below->second].addresses.end > claim.addresses.begin) met = below;
    }
    return met;
  }

  std::span<const Claim> claims_;
  Live live_;
  std::unordered_set<std::uint32_t> gone_;
};

/// A claim begins or ends: twice its index, and one more if it begins.
using Event = std::uint32_t;

/// In order of time; at one time ends come first, and firm claims before others. Ranks are few, so they are
/// counted. None after a stop.
std::vector<Event> events_of(std::span<const Claim> claims, const Limits& limits) {
  const auto key = [&](Event event) {
    const Claim& claim = claims[event / 2];
    const std::size_t begins = event % 2;
    return 4 * std::size_t{begins != 0 ? claim.begin : claim.end} + 2 * begins + (claim.firm ? 0 : 1);
  };
  const auto for_events = [&](const auto& f) {
    for (Event i = 0; i < claims.size() && (i % kSortStretch != 0 || !limits.stopped()); ++i) {
      const Claim& claim = claims[i];
      if (claim.begin >= claim.end || claim.addresses.begin >= claim.addresses.end) continue;
      f(2 * i);
      f(2 * i + 1);
    }
  };
  std::uint32_t ranks = 0;
  for (const Claim& claim : claims) ranks = std::max(ranks, claim.end);
  std::vector<Event> from(4 * std::size_t{ranks} + 5, 0);
  for_events([&](Event event) { ++from[key(event) + 1]; });
  std::partial_sum(from.begin(), from.end(), from.begin());
  if (limits.stopped()) return {};
  std::vector<Event> events(from.back());
  for_events([&](Event event) { events[from[key(event)]++] = event; });
  if (limits.stopped()) return {};
  return events;
}

}  // namespace

std::vector<std::uint32_t> giving_way(std::span<const Claim> claims, const Limits& limits) {
  const std::vector<Event> events = events_of(claims, limits);
  Sweep sweep(claims);
  std::size_t seen = 0;
  for (const Event event : events) {
    if (++seen % kSortStretch == 0 && limits.stopped()) break;
    event % 2 != 0 ? sweep.begin(event / 2) : sweep.end(event / 2);
  }
  return sweep.gone();
}

}  // namespace stowage::planner::placement
