// Checkpoints of chains: against every set of checkpoints of small chains, played op by op, and against a
// quadratic search on long ones.
#include "planner/schedule/chains/checkpoints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace stowage::planner::schedule {
namespace {

using Layers = std::vector<Layer>;

// Sizes of all orders, among them none at all, and one that dwarfs the others.
Layers random_chain(std::uint64_t seed, std::size_t most, bool outputs_only) {
  std::mt19937_64 random(seed);
  const auto size = [&] { return random() % 5 == 0 ? 0 : random() % 1000; };
  Layers layers(1 + random() % most);
  for (Layer& layer : layers) {
    layer.output = size();
    if (!outputs_only) layer = {layer.output, size(), size(), size(), random() % 2 == 0};
  }
  if (random() % 3 == 0) layers[random() % layers.size()].output = 20'000;
  return layers;
}

std::vector<std::uint32_t> set_of(std::uint64_t bits) {
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; bits >> i != 0; ++i) {
    if ((bits >> i & 1) != 0) kept.push_back(i);
  }
  return kept;
}

std::uint64_t static_sum(const Layers& layers, const std::vector<std::uint32_t>& kept) {
  std::uint64_t sum = 0, segment = 0, largest = 0;
  for (std::uint32_t i = 0; i < layers.size(); ++i) {
    const bool is_kept = std::binary_search(kept.begin(), kept.end(), i);
    sum += is_kept ? layers[i].output : 0;
    segment = is_kept ? 0 : segment + layers[i].output;
    largest = std::max(largest, segment);
  }
  return sum + largest;
}

// Runs a forward and a backward pass with these checkpoints, one op after the other.
class Pass {
 public:
  Pass(const Layers& layers, const std::vector<std::uint32_t>& kept)
      : layers_(layers), kept_(kept), held_(layers.size(), false) {}

  std::uint64_t peak() {
    forward();
    for (std::size_t layer = layers_.size(); layer-- > 0;) backward(layer);
    return peak_;
  }

 private:
  [[nodiscard]] bool is_kept(std::size_t layer) const {
    return std::binary_search(kept_.begin(), kept_.end(), static_cast<std::uint32_t>(layer));
  }
  [[nodiscard]] std::uint64_t held() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) sum += held_[i] ? layers_[i].output : 0;
    return sum;
  }
  void note(std::uint64_t besides) { peak_ = std::max(peak_, held() + besides); }
  void run(std::size_t layer) {
    held_[layer] = true;
    note(layers_[layer].forward_workspace);
  }
  void forward() {
    const std::size_t last = kept_.empty() ? 0 : kept_.back();
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      run(layer);
      const bool stays = layer == 0 || is_kept(layer - 1) || (layer - 1 > last) || kept_.empty();
      if (!stays) held_[layer - 1] = false;
    }
  }
  // Its own output is counted only if it reads that; the input comes back first, with its segment.
  void backward(std::size_t layer) {
    held_[layer] = false;
    std::size_t from = layer;
    while (from > 0 && !held_[from - 1]) --from;
    for (; from < layer; ++from) run(from);
    const Layer& at = layers_[layer];
    note(at.gradient + (layer == 0 ? 0 : layers_[layer - 1].gradient) + at.backward_workspace +
         (at.saves_output ? at.output : 0));
  }

  const Layers& layers_;
  const std::vector<std::uint32_t>& kept_;
  std::vector<bool> held_;
  std::uint64_t peak_ = 0;
};

std::uint64_t traced_peak(const Layers& layers, const std::vector<std::uint32_t>& kept) {
  return Pass(layers, kept).peak();
}

template <class Objective>
std::uint64_t least_of_all(const Layers& layers, Objective objective) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << layers.size(); ++bits)
    least = std::min(least, objective(layers, set_of(bits)));
  return least;
}

TEST(Checkpoints, TheStaticSumIsTheLeastOfAllSets) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Layers layers = random_chain(seed, 9, true);
    const Checkpoints found = least_static_sum(layers);
    ASSERT_EQ(found.bytes, static_sum(layers, found.kept)) << seed;
    ASSERT_EQ(found.bytes, least_of_all(layers, static_sum)) << seed;
  }
}

TEST(Checkpoints, TheTracedPeakIsTheLeastOfAllSets) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Layers layers = random_chain(seed, 9, seed % 2 == 0);
    const Checkpoints found = least_traced_peak(layers);
    ASSERT_EQ(found.bytes, traced_peak(layers, found.kept)) << seed;
    ASSERT_EQ(found.bytes, least_of_all(layers, traced_peak)) << seed;
  }
}

// The same by looking at all pairs of checkpoints that may follow each other.
std::uint64_t traced_peak_by_pairs(const Layers& layers) {
  const std::size_t n = layers.size();
  std::vector<std::uint64_t> behind(n + 2, 0);  // by position: 0 the input, n + 1 the end
  for (std::size_t from = n + 1; from-- > 0;) {
    std::uint64_t sum = 0, most = 0, least = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t to = from + 1; to <= n + 1; ++to) {
      std::uint64_t first_run = 0;
      if (to <= n) {
        const Layer& at = layers[to - 1];
        const std::uint64_t input = to == from + 1 ? 0 : layers[to - 2].output;
        most = std::max(most, sum + at.gradient + (to < 2 ? 0 : layers[to - 2].gradient) +
                                  at.backward_workspace + (at.saves_output ? at.output : 0));
        first_run = input + at.output + at.forward_workspace;
      }
      least = std::min(least, std::max({most, first_run, behind[to]}));
      if (to > n) break;
      sum += layers[to - 1].output;
      most = std::max(most, sum + layers[to - 1].forward_workspace);
    }
    behind[from] = least + (from == 0 ? 0 : layers[from - 1].output);
  }
  return behind[0];
}

TEST(Checkpoints, TheQueueLosesNothingOnLongChains) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Layers layers = random_chain(seed, 2000, seed % 2 == 0);
    const Checkpoints found = least_traced_peak(layers);
    EXPECT_EQ(found.bytes, traced_peak_by_pairs(layers)) << seed;
  }
}

// They minimise different things: neither set is the best one for the other.
TEST(Checkpoints, TheTwoChooseDifferently) {
  int differ = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Layers layers = random_chain(seed, 12, true);
    const Checkpoints sum = least_static_sum(layers), peak = least_traced_peak(layers);
    EXPECT_LE(sum.bytes, static_sum(layers, peak.kept));
    EXPECT_LE(peak.bytes, traced_peak(layers, sum.kept));
    differ += sum.kept != peak.kept ? 1 : 0;
  }
  EXPECT_GT(differ, 30);
}

// Nine hundred equal layers take 2 sqrt(n) of them by one sum, and sqrt(2n) where checkpoints are freed.
TEST(Checkpoints, OfEqualLayersTakeTheSquareRoot) {
  constexpr std::size_t kLayers = 900;
  const Layers layers(kLayers, Layer{.output = 1});
  const Checkpoints sum = least_static_sum(layers), peak = least_traced_peak(layers);
  EXPECT_EQ(sum.bytes, 59u) << "29 segments of 30 layers, and one less at each border";
  EXPECT_NEAR(static_cast<double>(peak.bytes), 42.4, 2);
  EXPECT_EQ(peak.bytes, traced_peak(layers, peak.kept));
}

TEST(Checkpoints, OfAChainOfOneLayerThereAreNone) {
  const Layers one{{.output = 7, .gradient = 3, .backward_workspace = 5}};
  EXPECT_EQ(least_traced_peak(one).bytes, 8u);
  EXPECT_EQ(least_static_sum(one).bytes, 7u);
  EXPECT_TRUE(least_traced_peak({}).kept.empty());
  EXPECT_EQ(least_static_sum({}).bytes, 0u);
}

}  // namespace
}  // namespace stowage::planner::schedule
