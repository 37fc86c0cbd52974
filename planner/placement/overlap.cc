#include "planner/placement/overlap.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "planner/placement/long_sort.h"

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

}  // namespace

std::vector<std::uint32_t> giving_way(std::span<const Claim> claims, const Limits& limits) {
  struct Event {
    std::uint32_t rank;
    bool begins;  // ends come first
    std::uint32_t claim;
  };
  std::vector<Event> events;
  events.reserve(2 * claims.size());
  for (std::uint32_t i = 0; i < claims.size(); ++i) {
    if (claims[i].begin >= claims[i].end || claims[i].addresses.begin >= claims[i].addresses.end) continue;
    events.push_back({claims[i].begin, true, i});
    events.push_back({claims[i].end, false, i});
  }
  const auto before = [&](const Event& a, const Event& b) {
    return std::tuple(a.rank, a.begins, !claims[a.claim].firm, a.claim) <
           std::tuple(b.rank, b.begins, !claims[b.claim].firm, b.claim);
  };
  if (!sort_unless(events, before, [&] { return limits.stopped(); })) return {};
  Sweep sweep(claims);
  std::size_t seen = 0;
  for (const Event& event : events) {
    if (++seen % kSortStretch == 0 && limits.stopped()) break;
    event.begins ? sweep.begin(event.claim) : sweep.end(event.claim);
  }
  return sweep.gone();
}

}  // namespace stowage::planner::placement
