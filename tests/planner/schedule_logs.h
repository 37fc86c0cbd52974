// Logs of iterations for tests of schedulers: a builder, and families of jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/step_log.h"
#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

/// Writes a log op by op. Sizes are in granules, costs in microseconds.
class LogBuilder {
 public:
  struct Input {
    std::uint32_t buffer;
    ValueRole role = ValueRole::kRead;
  };
  struct Output {
    std::uint64_t granules;
    bool recipe = true;
  };
  struct Extras {
    std::uint64_t cost_us = 10;
    std::uint64_t workspace = 0;
    std::uint64_t replay_extra = 0;
    bool recipe = true;  ///< of what is written in place
  };

  /// A buffer from before the iteration. Requires: no op yet.
  std::uint32_t before(std::uint64_t granules);
  /// A buffer that nobody saw being made.
  std::uint32_t unseen(std::uint64_t granules);
  /// The buffers that it makes. Inputs with a writing role get their next version.
  std::vector<std::uint32_t> op(const std::vector<Input>& inputs, const std::vector<Output>& outputs,
                                const Extras& extras);
  /// One output of this size.
  std::uint32_t op(const std::vector<std::uint32_t>& reads, std::uint64_t granules,
                   std::uint64_t cost_us = 10);
  void free(std::uint32_t buffer);
  /// The latest op pins what it reads.
  void pin(std::uint32_t buffer) {
    if (log_.pinned_from[buffer] == kNoOp)
      log_.pinned_from[buffer] = OpId(static_cast<std::uint32_t>(log_.trace.ops.size() - 1));
  }
  /// It has a store: what a copy there, or one back, takes.
  void store(std::uint32_t buffer, std::uint64_t copy_us);
  /// What is still alive survives. Always valid.
  StepLog build();

 private:
  std::uint32_t add(std::uint64_t granules, Stay stay, bool preexisting);

  StepLog log_;
  std::vector<std::uint32_t> versions_;
  std::uint64_t tick_ = 1;
};

/// A chain of layers forward and back: each gradient reads its layer's input and output.
StepLog chain(std::uint32_t layers, std::uint64_t granules);
/// An encoder and a decoder whose halves are joined by skips, sizes halving with depth.
StepLog unet(std::uint32_t depth);
/// Blocks of attention and perceptron with residuals, in-place dropout and masks, forward and back.
StepLog transformer(std::uint32_t blocks);
/// A chain of layers with a parameter each, and an optimizer of two states for each. Parameters, gradients
/// and states have a store.
StepLog optimized(std::uint32_t layers, std::uint64_t parameter, std::uint64_t activation,
                  std::uint64_t copy_us);
/// Any DAG: in-place ops, several outputs, values without recipes, deaths, leaves that die or are written.
StepLog random_log(std::uint64_t seed, std::uint32_t ops);

/// Of the most that an iteration holds if nothing leaves.
Bytes share_of_peak(const StepLog& log, double share);

/// With nothing but the actions.
Schedule of_steps(const StepLog& log, const OpGraph& graph, const std::vector<Step>& steps);

}  // namespace stowage::planner::schedule
