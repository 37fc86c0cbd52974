// Random jobs that are automata of kinds of iterations: which kind comes when, what each allocates, what it
// leaves alive for the iterations that follow. The same seed makes the same job.
#pragma once

#include <cstdint>
#include <vector>

#include "core/trace.h"
#include "planner/joint_placement.h"
#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// What a job does, one step after the other.
struct Step {
  enum class What : std::uint8_t { kAllocate, kFree, kMark, kException };  ///< the last: nothing is done
  What what = What::kMark;
  std::uint32_t buffer = 0;  ///< counts up over the whole job
  std::uint64_t bytes = 0;
};

struct AutomatonOptions {
  int kinds = 3;
  int iterations = 40;
  int most_allocations = 40;  ///< of a kind
  bool kept = true;           ///< some tensors live for several iterations
  int exceptions = 0;  ///< of a hundred iterations, so many end early: their tensors die, and no mark comes
};

/// One iteration's kind after the other: kind 0 most often, each other one at its own interval.
[[nodiscard]] std::vector<Step> run_automaton(std::uint64_t seed, const AutomatonOptions& options = {});

/// As a recorder would write it down.
[[nodiscard]] Trace trace_of(const std::vector<Step>& steps);

/// So that what is planned depends on work alone.
[[nodiscard]] JointOptions patient(std::uint64_t work_limit = 20'000'000);

/// All kinds of iterations that the trace shows.
[[nodiscard]] Kinds kinds_of(const Trace& trace);

}  // namespace stowage::planner
