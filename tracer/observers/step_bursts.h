// Tells which of a thread's optimizer steps end an iteration.
//
// A job with many optimizers, such as one for each parameter, steps all of them after one backward pass.
// Those steps are a burst: autograd records nothing between them. The last one of a burst ends the iteration,
// as by then no graph is alive any more of which another optimizer waits for its gradients. Which one is the
// last is known from the burst before; of the first burst it is the first. A job for which autograd never
// records anything (gradients that are computed otherwise) has no bursts: every step ends an iteration.
//
// Thread safety: none; each thread has its own.
#pragma once

#include <cstdint>

namespace stowage::tracer {

class StepBursts {
 public:
  /// A step ended. `graph_built`: autograd recorded something since the one before. True if an iteration ends
  /// here.
  bool on_step(bool graph_built) {
    if (graph_built) {
      if (steps_ != 0) expected_ = steps_;
      steps_ = 0;
    } else if (steps_ == 0 || steps_ >= kLongest) {
      steps_ = 0;  // gradients come from elsewhere
      return true;
    }
    return ++steps_ == expected_;
  }

 private:
  static constexpr std::uint32_t kLongest = 4096;

  std::uint32_t expected_ = 1;  ///< steps in a burst
  std::uint32_t steps_ = 0;     ///< of the present burst; 0: there is none
};

}  // namespace stowage::tracer
