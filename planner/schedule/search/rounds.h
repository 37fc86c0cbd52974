// What a search's sweeps compare buffers by, round after round.
//
// First come the plain weights, from careful to bold, then the same with noise. No one of them is best for
// every job. In turns a gap is worth its time or what the bound's prices make of it, and a list op's outputs
// cost all of the op each, or a share. Where copies run beside ops they count with several prices, and soon
// with those alone that found something good. Thread safety: none. Deterministic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/schedule/sweeps/scores.h"

namespace stowage::planner::schedule {

inline constexpr std::array<Weights, 12> kPlainWeights{{{1, 1, 1},
                                                        {1, 2, 1},
                                                        {1, 1, 0.5},
                                                        {0.5, 2, 1},
                                                        {1, 0.5, 1},
                                                        {0.5, 1, 1},
                                                        {1, 1, 0},
                                                        {1, 2, 0},
                                                        {0.5, 0.5, 2},
                                                        {0, 0, 1},
                                                        {0, 1, 0},
                                                        {0.25, 1, 0.25}}};

/// The first of them, with copies for this part of what they take.
[[nodiscard]] inline Weights weights_with_copies_at(double part) {
  Weights weights = kPlainWeights.front();
  weights.copies = part;
  return weights;
}

class Rounds {
 public:
  Rounds(std::uint64_t seed, bool copies_overlap);

  /// From now on most rounds go by them (Weights::prices).
  void use_prices(const std::vector<double>* prices) { prices_ = prices; }
  /// Rounds are numbered from 0 on.
  [[nodiscard]] Weights weights_of(int round) const;
  /// This round's sweep found a schedule that adds so much.
  void note(int round, std::uint64_t added_ns);

 private:
  static constexpr std::size_t kPrices = 7;
  [[nodiscard]] std::size_t price_of(int round) const;

  std::uint64_t seed_;
  bool copies_overlap_;
  const std::vector<double>* prices_ = nullptr;
  std::array<std::uint64_t, kPrices> least_ns_;  ///< that was found with each price
};

}  // namespace stowage::planner::schedule
