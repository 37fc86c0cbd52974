// Runs a list of actions through the model of the runtime: what it comes to.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/model/model.h"

namespace stowage::planner::schedule {

/// One step of a schedule in terms of the graph.
struct Step {
  std::uint32_t op = 0;
  ActionKind kind = ActionKind::kEvict;
  std::uint32_t buffer = 0;
};

struct Outcome {
  std::uint64_t peak = 0;
  std::uint64_t replays = 0;
  std::uint64_t replay_ns = 0;
  std::uint64_t copies = 0;
  std::uint64_t copy_ns = 0;
  std::uint64_t wait_ns = 0;  ///< for copies
  std::uint64_t refused = 0;  ///< evictions that could not be done, and buffers that are away at the end
  std::uint64_t work = 0;     ///< values looked at
  /// What all that is done besides the job's ops takes.
  [[nodiscard]] std::uint64_t added_ns() const { return replay_ns + wait_ns; }
};

/// Steps, and what they come to.
struct Found {
  std::vector<Step> steps;  ///< in order of op
  Outcome outcome;
};

/// What happened on the way, by op.
struct Course {
  std::vector<std::uint64_t> begins;  ///< when its actions begin, without what was waited for copies
  std::vector<std::uint64_t> held;    ///< most bytes from then on, until the next op's actions begin
  std::vector<Copied> copied;         ///< in order
};

/// The lasting buffers that are offloaded behind their last use and not brought back: the iteration ends, and
/// so begins, with them away.
[[nodiscard]] std::vector<std::uint32_t> left_away(const OpGraph& graph, const std::vector<Step>& steps);

/// What the runtime does for an op that the model came to, after the schedule's actions: what it reads, and
/// what starts from what it writes, comes back, and it runs.
void run_op(const OpGraph& graph, Model& model, std::uint32_t op);

/// Requires: steps are in order of op. `spans`: where to note what is held when; `course`: what happened;
/// each may be null.
[[nodiscard]] Outcome play(const OpGraph& graph, const std::vector<Step>& steps,
                           std::vector<Span>* spans = nullptr, Course* course = nullptr);

}  // namespace stowage::planner::schedule
