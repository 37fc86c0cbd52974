#include "recompute/choice/contiguous_room.h"

namespace stowage::recompute {

std::optional<ContiguousRoom> cheapest_room(const std::vector<Stretch>& stretches, std::uint64_t bytes) {
  std::optional<ContiguousRoom> best;
  std::size_t first = 0;
  double cost = 0;
  for (std::size_t last = 0; last < stretches.size(); ++last) {
    if (last > 0 && stretches[last].begin != stretches[last - 1].end) {
      first = last;  // something that stays lies between them
      cost = 0;
    }
    cost += stretches[last].cost;
    // The shortest room that ends here: stretches in front that are not needed only add cost.
    while (first < last && stretches[last].end - stretches[first + 1].begin >= bytes)
      cost -= stretches[first++].cost;
    if (stretches[last].end - stretches[first].begin < bytes) continue;
    if (!best || cost < best->cost) best = ContiguousRoom{first, last, cost};
  }
  return best;
}

}  // namespace stowage::recompute
