// How an op that draws random numbers runs again: with a generator of its own, so that no thread of the job
// ever finds its generator in another state.
//
// An op that takes a Generator is given ours. Of the others, most have an overload that takes one
// (rand_like), or another op that gives the same bits (CUDA's native_dropout). Those of which neither is true
// draw in their kernels from the device's default generator, which nobody can exchange for one thread: they
// run again only if they drew nothing (attention without dropout). An op that this file does not know never
// runs again.
//
// Thread safety: pure functions; decide() once for each op.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string_view>

namespace at {
struct Generator;
}
namespace c10 {
class OperatorHandle;
struct FunctionSchema;
}  // namespace c10

namespace stowage::recompute {

/// How an op draws.
enum class Draws : std::uint8_t {
  kNothing,
  kFromArgument,    ///< from its Generator argument
  kAsEquivalent,    ///< as another overload or op does, which takes a Generator
  kFusedDropout,    ///< native_dropout: as _fused_dropout, or the ops that the CPU's calls
  kInsideKernel,    ///< from the default generator, if its dropout is above 0
  kInsideOtherOps,  ///< a composite, whose ops come by themselves
  kUnknown          ///< from somewhere: never run again
};

struct Drawing {
  Draws how = Draws::kNothing;
  const c10::OperatorHandle* equivalent = nullptr;  ///< lives for ever
};

/// Of an op that has the tag nondeterministic_seeded. `composite`: its ops come by themselves.
Drawing drawing_of(const c10::FunctionSchema& schema, bool composite);

/// What one call needs in order to run again.
enum class Replaying : std::uint8_t { kNeedsNoState, kNeedsState, kIsImpossible };
Replaying replaying_of(const Drawing& drawing, const c10::OperatorHandle& op,
                       c10::ArrayRef<c10::IValue> arguments, bool cuda);

/// Runs `op` on `stack` with `generator` in the place of the job's. Requires: Replaying::kNeedsState.
void call_with(const at::Generator& generator, const Drawing& drawing, const c10::OperatorHandle& op,
               torch::jit::Stack& stack);

}  // namespace stowage::recompute
