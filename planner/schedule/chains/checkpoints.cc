#include "planner/schedule/chains/checkpoints.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <set>

#include "planner/schedule/chains/range_max.h"

namespace stowage::planner::schedule {
namespace {

// Positions: 0 is the chain's input, i + 1 the output of layer i, n + 1 the end. All but the first and the
// last may be checkpoints.
class Positions {
 public:
  explicit Positions(std::span<const Layer> layers) : size_(layers.size() + 2), before_(size_ + 1) {
    for (std::size_t at = 0; at < size_; ++at) before_[at + 1] = before_[at] + bytes(layers, at);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t end() const { return size_ - 1; }
  [[nodiscard]] std::uint64_t bytes(std::size_t at) const { return before_[at + 1] - before_[at]; }
  /// Of the outputs at positions [begin, end).
  [[nodiscard]] std::uint64_t sum(std::size_t begin, std::size_t end) const {
    return before_[end] - before_[begin];
  }

 private:
  static std::uint64_t bytes(std::span<const Layer> layers, std::size_t at) {
    return at == 0 || at > layers.size() ? 0 : layers[at - 1].output;
  }
  std::size_t size_;
  std::vector<std::uint64_t> before_;
};

// From each checkpoint to the next, from the input on.
std::vector<std::uint32_t> layers_along(const std::vector<std::size_t>& next, std::size_t end) {
  std::vector<std::uint32_t> kept;
  for (std::size_t at = next[0]; at != end; at = next[at]) kept.push_back(static_cast<std::uint32_t>(at - 1));
  return kept;
}

std::vector<std::uint32_t> layers_back(const std::vector<std::size_t>& previous, std::size_t end) {
  std::vector<std::uint32_t> kept;
  for (std::size_t at = previous[end]; at != 0; at = previous[at])
    kept.push_back(static_cast<std::uint32_t>(at - 1));
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// The least sum of checkpoints where no segment is larger than `most`. A segment only shrinks as it begins
// later, so what may come before a position is a window that moves on, and its least is the front of a queue.
Checkpoints least_sum_with(const Positions& positions, std::uint64_t most) {
  std::vector<std::uint64_t> sums(positions.size(), 0);
  std::vector<std::size_t> previous(positions.size(), 0);
  std::deque<std::size_t> window{0};
  for (std::size_t at = 1; at < positions.size(); ++at) {
    while (positions.sum(window.front() + 1, at) > most) window.pop_front();
    previous[at] = window.front();
    sums[at] = sums[window.front()] + positions.bytes(at);
    while (!window.empty() && sums[window.back()] >= sums[at]) window.pop_back();
    window.push_back(at);
  }
  return {layers_back(previous, positions.end()), sums[positions.end()]};
}

// What a segment needs, its checkpoints not counted. It never falls as the segment's end moves on, nor as its
// beginning moves back: what least_traced_peak() counts on.
class SegmentNeeds {
 public:
  SegmentNeeds(std::span<const Layer> layers, const Positions& positions)
      : layers_(layers), positions_(positions), forward_(forward(layers)), backward_(backward(layers)) {}

  /// Of the layers behind position `from` up to position `to`, whose output is a checkpoint or the end.
  [[nodiscard]] std::uint64_t operator()(std::size_t from, std::size_t to) const {
    const std::size_t last = std::min(to, layers_.size());
    const std::uint64_t before = positions_.sum(0, from + 1);
    const std::uint64_t there = std::max(forward_(from, to - 1), backward_(from, last));
    return std::max(there - std::min(there, before), to == positions_.end() ? 0 : first_run(from, to));
  }

 private:
  // The forward pass comes to the checkpoint itself, and has only its layer's input beside it.
  [[nodiscard]] std::uint64_t first_run(std::size_t from, std::size_t to) const {
    const std::uint64_t input = to - 1 > from ? positions_.bytes(to - 1) : 0;
    return input + positions_.bytes(to) + layers_[to - 1].forward_workspace;
  }
  // By layer: all outputs up to its own, and what it needs besides.
  [[nodiscard]] RangeMax forward(std::span<const Layer> layers) const {
    std::vector<std::uint64_t> needs;
    for (std::size_t i = 0; i < layers.size(); ++i)
      needs.push_back(positions_.sum(0, i + 2) + layers[i].forward_workspace);
    return RangeMax(std::move(needs));
  }
  // By layer: all outputs before it, and what its backward op needs besides.
  [[nodiscard]] RangeMax backward(std::span<const Layer> layers) const {
    std::vector<std::uint64_t> needs;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Layer& layer = layers[i];
      const std::uint64_t of_input = i == 0 ? 0 : layers[i - 1].gradient;
      needs.push_back(positions_.sum(0, i + 1) + layer.gradient + of_input + layer.backward_workspace +
                      (layer.saves_output ? layer.output : 0));
    }
    return RangeMax(std::move(needs));
  }

  std::span<const Layer> layers_;
  const Positions& positions_;
  RangeMax forward_, backward_;
};

}  // namespace

Checkpoints least_static_sum(std::span<const Layer> layers) {
  const Positions positions(layers);
  std::set<std::uint64_t> segments;
  for (std::size_t from = 0; from < positions.end(); ++from) {
    for (std::size_t to = from + 1; to < positions.size(); ++to) segments.insert(positions.sum(from + 1, to));
  }
  Checkpoints best{{}, std::numeric_limits<std::uint64_t>::max()};
  for (const std::uint64_t most : segments) {
    Checkpoints found = least_sum_with(positions, most);
    found.bytes += most;
    if (found.bytes < best.bytes) best = std::move(found);
  }
  return best;
}

// From the end back: the least peak behind a checkpoint, over where the next one is. Of those that come into
// question a queue keeps the ones that are nearer to the front and need more behind them; as segments only
// grow towards the front, one that has lost against a nearer one has lost for good.
Checkpoints least_traced_peak(std::span<const Layer> layers) {
  const Positions positions(layers);
  const SegmentNeeds needs(layers, positions);
  std::vector<std::uint64_t> peak(positions.size(),
                                  0);  // with a checkpoint there: what it and all behind it take
  std::vector<std::size_t> next(positions.size(), positions.end());
  std::deque<std::size_t> queue{positions.end()};
  for (std::size_t from = positions.end(); from-- > 0;) {
    const auto with = [&](std::size_t to) { return std::max(needs(from, to), peak[to]); };
    while (queue.size() > 1 && with(queue[queue.size() - 2]) <= with(queue.back())) queue.pop_back();
    next[from] = queue.back();
    peak[from] = positions.bytes(from) + with(queue.back());
    while (!queue.empty() && peak[queue.front()] >= peak[from]) queue.pop_front();
    queue.push_front(from);
  }
  return {layers_along(next, positions.end()), peak[0]};
}

}  // namespace stowage::planner::schedule
