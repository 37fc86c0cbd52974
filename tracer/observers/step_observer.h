// Hears every torch optimizer step of the process, and tells which of them end a training iteration.
//
// torch.optim wraps each step() in a user-scope record function named "Optimizer.step#<class>.step". Only
// user scopes are listened to, so ops cost nothing more than without it. A step that GradScaler skips never
// calls step() and is not heard. A step inside a step (wrappers, closures) belongs to the outer one. Steps
// inside a backward pass end one iteration together, when that pass is over (backward_pass.h); of several
// steps with no new graph between them one ends an iteration (step_bursts.h).
//
// Thread safety: start and stop from any thread; callbacks come on the thread that steps, or that ends the
// backward pass. One observer at a time.
#pragma once

#include <functional>

#include "core/trace.h"

namespace stowage::tracer {

struct StepCallbacks {
  std::function<void()> on_begin;           ///< before the outermost step of its thread; may be empty
  std::function<void()> on_end;             ///< after it, also when it threw; may be empty
  std::function<void(MarkSource)> on_mark;  ///< where an iteration ends, after on_end; may be empty
};

/// Calls `callbacks` at every step from now on, in place of earlier ones. What they throw is swallowed.
void start_observing_steps(StepCallbacks callbacks);

/// No step that begins after this returns is reported. Steps under way on other threads still end with their
/// callbacks.
void stop_observing_steps();

}  // namespace stowage::tracer
