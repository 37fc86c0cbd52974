// The model of the runtime and the validator, which share no code, must count the same of any actions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/support/mix.h"
#include "planner/schedule/check/validator.h"
#include "planner/schedule/model/play.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {

/// Random actions of those that `pick` gives for a buffer, which may be none, and of these what can be done:
/// the validator refuses the rest.
inline std::vector<Step> random_steps(
    const OpGraph& graph, std::uint64_t seed,
    const std::function<std::optional<ActionKind>(std::uint32_t buffer, SplitMix& lots)>& pick) {
  std::vector<Step> steps;
  SplitMix lots(seed);
  for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
    for (std::uint32_t b = 0; b < graph.buffers.size(); ++b) {
      const std::optional<ActionKind> kind = pick(b, lots);
      if (!kind) continue;
      steps.push_back({op, *kind, b});
      if (play(graph, steps).refused > 0) steps.pop_back();
    }
  }
  return steps;
}

inline void expect_agreement(const StepLog& log, const OpGraph& graph, const std::vector<Step>& steps) {
  constexpr Bytes kPlenty = Bytes(std::uint64_t{1} << 50u);
  const Outcome outcome = play(graph, steps);
  const Result<Verdict> verdict = validate_schedule(log, of_steps(log, graph, steps), kPlenty);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  ASSERT_EQ(verdict->peak.value(), outcome.peak);
  ASSERT_EQ(verdict->replays, outcome.replays);
  ASSERT_EQ(verdict->replay_ns, outcome.replay_ns);
  ASSERT_EQ(verdict->copies, outcome.copies);
  ASSERT_EQ(verdict->copy_ns, outcome.copy_ns);
  ASSERT_EQ(verdict->wait_ns, outcome.wait_ns);
}

}  // namespace stowage::planner::schedule
