// Which layers of a chain to keep for the backward pass, so that it takes least memory.
//
// A chain has layers 0 to n-1. Layer i makes its output from that of layer i-1; the input of layer 0 is
// always there. Checkpoints are outputs that the forward pass keeps. They cut the chain into segments: the
// layers strictly between two checkpoints run again when the backward pass comes to them, each exactly once,
// and those behind the last checkpoint are kept as they are.
//
// The two functions minimise different things, so that neither result says anything about the other:
// least_static_sum() counts all checkpoints for as long as any segment is there, least_traced_peak() frees
// each one once the backward pass has come before it. After Hong, Tsai, Wang, Liu and Wu, "GPU Memory Usage
// Optimization for Backward Propagation in Deep Network Training" (arXiv 2502.12499): reconstructed from its
// abstract, and proven by enumeration in the tests.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stowage::planner::schedule {

/// Sizes in bytes.
struct Layer {
  std::uint64_t output = 0;
  std::uint64_t gradient = 0;            ///< of the output
  std::uint64_t forward_workspace = 0;   ///< while the layer runs
  std::uint64_t backward_workspace = 0;  ///< while its backward op runs
  bool saves_output = false;             ///< its backward op reads the output, beside the input
};

struct Checkpoints {
  std::vector<std::uint32_t> kept;  ///< layers, ascending
  std::uint64_t bytes = 0;          ///< what the function that made it minimises
};

/// The least sum of all checkpoints and of the largest segment's outputs; of `layers` only the outputs count.
/// O(n³) time: a second for 500 layers. O(n²) memory.
[[nodiscard]] Checkpoints least_static_sum(std::span<const Layer> layers);

/// The least peak of a forward and a backward pass: at each moment the checkpoints before the present
/// segment, that segment's outputs up to the present layer, the layer's workspace and, in its backward op,
/// the gradients of its output and of its input. The gradient that waits while a segment runs again is not
/// counted. O(n log n): a second for a million layers.
[[nodiscard]] Checkpoints least_traced_peak(std::span<const Layer> layers);

}  // namespace stowage::planner::schedule
