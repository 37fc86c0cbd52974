// Evictions as checkpointing knows them: the forward pass in segments, of each of which only what later
// segments start from is kept.
//
// Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016), for any graph: what is held over the
// op that needs most is cut into runs of about equal bytes, in the order in which it is made. Where a budget
// is tight, a sweep that starts with these evictions may fit though none does that evicts when it must. Where
// the buffers are a chain, the runs with the least peak are known (planner/schedule/chains/checkpoints.h).
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/schedule/blocks/held.h"
#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

class Segments {
 public:
  /// Buffers below `smallest` bytes stay. `graph` must outlive it.
  Segments(const OpGraph& graph, std::uint64_t smallest);
  /// Of segments of about `bytes`, in order of op.
  [[nodiscard]] std::vector<Step> evictions(std::uint64_t bytes) const;
  /// Of those with the least peak, if each buffer is made from the one before.
  [[nodiscard]] std::vector<Step> evictions_of_chain() const;

 private:
  [[nodiscard]] bool is_read_later(std::uint32_t buffer, std::uint32_t end) const;
  [[nodiscard]] std::vector<Step> evictions_before(const std::vector<std::size_t>& borders) const;

  const OpGraph& graph_;
  std::uint32_t neediest_;        ///< the op that needs most
  std::vector<HeldBuffer> held_;  ///< over it, in the order in which they are made
};

}  // namespace stowage::planner::schedule
