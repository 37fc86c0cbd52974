#include "recompute/interposer/interposer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <exception>
#include <mutex>

#include "recompute/call/op_call.h"
#include "recompute/encode/codecs.h"
#include "recompute/interposer/below_autograd.h"
#include "recompute/interposer/composites.h"
#include "recompute/interposer/kernel_keys.h"
#include "recompute/interposer/python_dispatch.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/op_traits.h"
#include "recompute/rewrite/rewrites.h"
#include "recompute/threads/seen_thread.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

void run_call(const c10::OperatorHandle& op, const OpTraits& traits, Below kind, c10::DispatchKeySet below,
              torch::jit::Stack* stack) {
  OpCall call(traits, kind);
  call.begin(torch::jit::last(*stack, traits.arguments));
  if (kind != Below::kOps && traits.trusted) {
    const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKeySet{kAboveAutograd});
    op.redispatchBoxed(below, stack);
  } else {
    // Code of others may keep pointers: what the ops that it calls read and make stays.
    const Deeper opaque(this_thread().opaque, kind != Below::kOps);
    op.redispatchBoxed(below, stack);  // what it calls comes by itself
  }
  call.end(torch::jit::last(*stack, traits.returns));
}

// Inside a call whose kernels are seen.
void run_above_kernels(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
                       torch::jit::Stack* stack) {
  const c10::DispatchKeySet others = below.remove(kBelowAutograd);
  const Below kind = below_of(others);
  if (traits.trusted && kind != Below::kOps) return op.redispatchBoxed(below, stack);
  const c10::impl::ExcludeDispatchKeyGuard off(kBelowAutograd);
  run_call(op, traits, kind, others, stack);
}

void run_seen(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
              torch::jit::Stack* stack) {
  if (below.has(kBelowAutograd)) return run_above_kernels(op, traits, below, stack);
  const Below kind = below_of(below);
  const c10::ArrayRef<c10::IValue> arguments = torch::jit::last(*stack, traits.arguments);
  if (traits.trusted && (is_dual_call(below, arguments) || is_copying_call(traits, below, arguments)))
    return run_seeing_kernels(op, below, stack);
  run_call(op, traits, kind, below, stack);
}

bool runs_as_another(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
                     torch::jit::Stack* stack) {
  const bool plain =
      below_of(below) == Below::kPlain && !is_dual_call(below, torch::jit::last(*stack, traits.arguments));
  return run_rewritten({op, traits, below, stack, plain, &run_seen});
}

void on_op(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below =
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kAboveAutograd);
  if (!machine().on.load(std::memory_order_relaxed)) {
    take_part(false);
    return op.redispatchBoxed(below, stack);
  }
  if (below.has_any(c10::python_ks)) see_python_dispatch();
  // Recorded below autocast: it calls the op again, with casts as ops of their own.
  if (below.has_any(c10::autocast_dispatch_keyset)) return op.redispatchBoxed(below, stack);
  const OpTraits& traits = traits_of(op);
  if (is_composite_call(op, traits, below)) return run_composite(op, traits, below, stack);
  if (!(traits.rewritable && runs_as_another(op, traits, below, stack))) run_seen(op, traits, below, stack);
}

// Ops of which nothing needs to be known cost nothing either: the dispatcher does not stop at the key for
// them.
void let_pass() {
  auto* const library = new torch::Library(torch::Library::IMPL, "aten", kAboveAutograd, __FILE__, __LINE__);
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (op && traits_of(*op).passes && traits_of(*op).name != kMakesDuals)
      library->impl(traits_of(*op).name.c_str(), torch::CppFunction::makeFallthrough());
  }
}

}  // namespace

Status register_interposer() {
  static std::mutex making;
  static torch::Library* registered = nullptr;
  const std::lock_guard<std::mutex> lock(making);
  if (registered != nullptr) return {};
  try {
    auto* const library = new torch::Library(torch::Library::IMPL, "_", kAboveAutograd, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&on_op>());
    registered = library;
    let_pass();
    see_below_autograd();
    register_codecs();
    return {};
  } catch (const std::exception& error) {
    return Error{
        ErrorCode::kUnsupported,
        std::string("another library has taken the dispatch key that a budget needs (DeferredInit); run "
                    "without it or without a budget. PyTorch says: ") +
            error.what()};
  }
}

}  // namespace stowage::recompute
