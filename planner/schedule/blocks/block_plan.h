// Evictions by blocks: of an iteration's forward pass, the buffers that a dynamic programme over options of
// its blocks does not keep.
//
// They are what sweeps start with, which say when each comes back, and evict more where that does not fit.
// What the optimizer alone uses may make room, too, offloaded until its step. Thread safety: const members
// are pure. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/schedule/blocks/programme.h"
#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

class BlockPlan {
 public:
  /// `needed`: GapTable's. It and `graph` must outlive it. Buffers below `smallest` bytes stay.
  BlockPlan(const OpGraph& graph, const std::vector<std::uint64_t>& needed, std::uint64_t smallest);

  /// In order of op; empty if nothing fits. Of `elsewhere` bytes as much is offloaded as there is that is
  /// first used behind the op that needs most; for the rest, sweeps have to find room. `own_part`: see
  /// ChainProblem.
  [[nodiscard]] std::optional<std::vector<Step>> actions(std::uint64_t budget, std::uint64_t elsewhere,
                                                         double own_part) const;
  /// Buffers that it chooses from.
  [[nodiscard]] std::size_t size() const { return held_.size(); }

 private:
  void note_needs(ChainProblem& problem, std::uint64_t room) const;
  /// The first op behind the one that needs most that uses something of the block.
  [[nodiscard]] std::uint32_t wanted(const Block& block) const;
  [[nodiscard]] std::uint32_t made(const Block& block) const { return held_[block.items.front().held].made; }
  /// By how much ops in [begin, end) need more than `room` bytes.
  [[nodiscard]] std::uint64_t excess(std::uint32_t begin, std::uint32_t end, std::uint64_t room) const;
  void offload_late(std::uint64_t bytes, std::vector<Step>& steps) const;

  const OpGraph& graph_;
  const std::vector<std::uint64_t>& needed_;
  std::uint32_t neediest_;
  std::vector<HeldBuffer> held_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t>
      late_;              ///< lasting buffers that may be offloaded until they are used, the last one first
  ChainProblem problem_;  ///< without what depends on a budget
};

}  // namespace stowage::planner::schedule
