// Made traces with the shape of training jobs: nested activations, workspaces, gradients that live until the
// next iteration, optimizer temporaries, a loss and a batch that overlap their successors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace.h"

namespace stowage::planner {

/// When the job calls zero_grad(set_to_none).
enum class ZeroGrad { kBeforeForward, kBeforeBackward, kAfterStep };

/// One op with parameters and what its forward and backward allocate, in bytes.
struct Layer {
  std::uint64_t output = 0;     ///< activation, kept for backward
  std::uint64_t saved = 0;      ///< something more kept for backward (statistics, masks); 0: nothing
  std::uint64_t workspace = 0;  ///< alive during the op only; 0: none
  std::uint64_t weight = 0;     ///< bytes of its gradient; 0: no parameters
  int skip_to = -1;  ///< its output is read again by that layer's forward (U-Net), -1: by the next only
  bool saves_output = true;  ///< false: the output dies once the next layer has read it (in-place activation)
};

struct Job {
  std::string name;
  std::vector<Layer> layers;
  ZeroGrad zero_grad = ZeroGrad::kBeforeForward;
  int optimizer_temporaries =
      2;                    ///< lists of temporaries as large as the parameters, made by a foreach optimizer
  std::uint64_t batch = 0;  ///< bytes of the input, replaced each iteration while the old one is alive
  std::uint32_t streams = 1;  ///< the batch is copied on another stream if 2
  int micro_batches = 1;      ///< forward and backward so often an iteration; gradients accumulate
  bool varied = false;        ///< micro-batches are of different lengths, and so are their activations
};

/// A trace of `iterations` (>= 3) iterations, the last two of which are the steady windows.
Trace training_trace(const Job& job, int iterations = 3);

/// Jobs with the sizes and op counts of the zoo's models.
Job resnet50();
Job googlenet();
Job unet();
Job vgg16();
Job mobilenet_v2();
Job vit_b();
Job gpt2();
Job llama();
Job bert();
Job lstm();
std::vector<Job> zoo();

/// A GPT of `blocks` blocks with as many micro-batches as make about `buffers` allocations an iteration.
Job gpt_in_micro_batches(std::size_t buffers, int blocks, bool varied);

/// About `buffers` allocations an iteration, sizes random but the same for the same seed.
Job random_job(std::size_t buffers, std::uint64_t seed);

}  // namespace stowage::planner
