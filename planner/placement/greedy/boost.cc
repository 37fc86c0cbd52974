#include "planner/placement/greedy/boost.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/support/mix.h"

namespace stowage::planner::placement {
namespace {

/// Uniform enough in [0, bound). Requires: 0 < bound < 2^32.
std::uint64_t below(std::uint64_t bound, SplitMix& random) { return ((random.next() >> 32) * bound) >> 32; }

/// Moves the pieces that end too high forward to a random earlier place; the others keep their order. False
/// when the meter stopped it.
bool raise_offenders(const Instance& instance, const Draft& draft, Raise raise, SplitMix& random,
                     WorkMeter& meter, std::vector<std::uint32_t>& order) {
  constexpr std::uint64_t kSteps = 1024;
  const bool far = raise == Raise::kFar;
  std::uint64_t limit = instance.low_enough();
  if (far && draft.height > limit) limit += (draft.height - limit) / kSteps * below(kSteps, random);
  std::vector<std::uint64_t> place(order.size());
  for (std::uint64_t position = 0; position < order.size(); ++position) {
    const std::uint32_t piece = order[position];
    const bool offends = draft.offsets[piece] + instance.pieces[piece].size > limit;
    const std::uint64_t places = (far ? position / 4 : position) + 1;
    place[piece] = offends ? 2 * below(places, random) : 2 * position + 1;
  }
  return sort_by_keys(order, place, meter);
}

}  // namespace

bool boost(const Instance& instance, std::vector<std::uint32_t> order, std::uint64_t seed, WorkMeter& meter,
           Draft& draft, BoostBy by, int patience, Raise raise) {
  SplitMix random(seed);
  Draft current;
  const std::uint64_t overhead = 256 + 16 * order.size();  // of sorting and allocating, in units of work
  const auto place = [&] {
    return by == BoostBy::kFirstFit ? place_in_order(instance, order, Fit::kFirst, meter, current)
                                    : place_lowest_first(instance, order, meter, current);
  };
  for (int idle = 0; idle < patience && draft.height > instance.low_enough(); ++idle) {
    if (!meter.spend(overhead) || !place()) break;
    if (current.height < draft.height) {
      draft = current;
      idle = 0;
    }
    if (!raise_offenders(instance, current, raise, random, meter, order)) break;
  }
  return draft.height <= instance.low_enough();
}

}  // namespace stowage::planner::placement
