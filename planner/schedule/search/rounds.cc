#include "planner/schedule/search/rounds.h"

#include <algorithm>
#include <vector>

#include "core/support/mix.h"

namespace stowage::planner::schedule {
namespace {

constexpr int kKinds = static_cast<int>(kPlainWeights.size());
constexpr int kTurns = 2;          // one of so many goes by time, the others by prices
constexpr std::uint64_t kFar = 2;  // times the best that was found: other prices are tried no more

// Copies beside ops may cost as much as they take, or nothing. Without any, what cannot be recomputed stays,
// and much may fit that way: a restore comes in parts before it sends away what is dear.
struct PartOfCopies {
  double part;
  bool always;
};
constexpr std::array<PartOfCopies, 7> kPartsOfCopies{
    {{1, true}, {kNoCopies, true}, {0.1, false}, {0.3, true}, {0.02, false}, {0.1, true}, {0.3, false}}};

}  // namespace

Rounds::Rounds(std::uint64_t seed, bool copies_overlap) : seed_(seed), copies_overlap_(copies_overlap) {
  static_assert(kPartsOfCopies.size() == kPrices);
  least_ns_.fill(~std::uint64_t{0});
}

std::size_t Rounds::price_of(int round) const {
  if (!copies_overlap_) return 0;
  const auto turn = static_cast<std::size_t>(round) + static_cast<std::size_t>(round / kKinds);
  if (round < kKinds) return turn % kPrices;
  const std::uint64_t best = *std::ranges::min_element(least_ns_);
  std::vector<std::size_t> good;
  for (std::size_t price = 0; price < kPrices; ++price) {
    if (least_ns_[price] / kFar <= best) good.push_back(price);
  }
  return good[turn % good.size()];
}

Weights Rounds::weights_of(int round) const {
  const PartOfCopies& copies = kPartsOfCopies[price_of(round)];
  Weights weights = kPlainWeights[static_cast<std::size_t>(round % kKinds)];
  weights.copies = copies.part;
  weights.always = copies.always;
  const int turn = round / kKinds;
  weights.shared = (round + turn) % 2 == 0;
  weights.inputs_leave = round >= kKinds && (round / 2 + turn) % 2 == 0;
  if (prices_ != nullptr && turn % kTurns != 0) {
    weights.prices = prices_;
    weights.gap_power = std::max(weights.gap_power, 0.5);  // of 0 they would say nothing
  }
  if (round < kKinds) return weights;
  weights.noise = 0.25 * (1 + round / kKinds % 4);
  weights.seed = mix(seed_ + static_cast<std::uint64_t>(round));
  return weights;
}

void Rounds::note(int round, std::uint64_t added_ns) {
  std::uint64_t& least = least_ns_[price_of(round)];
  least = std::min(least, added_ns);
}

}  // namespace stowage::planner::schedule
