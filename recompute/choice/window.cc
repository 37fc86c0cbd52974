#include "recompute/choice/window.h"

namespace stowage::recompute {

std::optional<Window> cheapest_window(const std::vector<Piece>& pieces, std::uint64_t bytes) {
  std::optional<Window> best;
  std::size_t first = 0;
  double cost = 0;
  for (std::size_t last = 0; last < pieces.size(); ++last) {
    if (last > 0 && pieces[last].begin != pieces[last - 1].end) {
      first = last;  // something that stays lies between them
      cost = 0;
    }
    cost += pieces[last].cost;
    // The shortest window that ends here: pieces in front that are not needed only add cost.
    while (first < last && pieces[last].end - pieces[first + 1].begin >= bytes) cost -= pieces[first++].cost;
    if (pieces[last].end - pieces[first].begin < bytes) continue;
    if (!best || cost < best->cost) best = Window{first, last, cost};
  }
  return best;
}

}  // namespace stowage::recompute
