// Walks through the iteration that send away what is cheapest per byte and time whenever more would be held
// than the budget allows.
//
// They know the future: when a buffer is needed next, itself or because something evicted starts from it, and
// in the next iteration what lasts. What leaves is evicted, or offloaded where copies take less; it does so
// as early as that buffer is idle. A restore that would exceed the budget sends others away first, and if
// that does not do comes back in parts.
//
// What is away at the end is away at the beginning: a walk begins with what the one before ended with.
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/schedule/model/play.h"
#include "planner/schedule/sweeps/scores.h"

namespace stowage::planner::schedule {

struct Sweep {
  std::vector<Step> steps;  ///< in order of op
  /// Where it did not fit: how many bytes more would have done at that point. Empty: it fits.
  std::optional<std::uint64_t> missing;
  /// The restore that did not fit there, if it was one.
  std::optional<Step> failed;
  std::uint64_t work = 0;  ///< values looked at for scores, in steps of about 1 ns
};

/// `first`: actions that are done in any case where they can be, in order of op. What they restore stays
/// until an op uses it.
[[nodiscard]] Sweep sweep(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest,
                          const Weights& weights, const std::vector<Step>& first = {});

}  // namespace stowage::planner::schedule
