#include "recompute/interposer/interposer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <exception>
#include <mutex>
#include <utility>

#include "recompute/call/op_call.h"
#include "recompute/interposer/below_autograd.h"
#include "recompute/interposer/composites.h"
#include "recompute/interposer/kernel_keys.h"
#include "recompute/interposer/list_groups.h"
#include "recompute/interposer/python_dispatch.h"
#include "recompute/interposer/reused_gradient.h"
#include "recompute/interposer/split_backward.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/op_traits.h"
#include "recompute/ops/tensor_memory.h"
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
  if (traits.trusted && is_dual_call(below, torch::jit::last(*stack, traits.arguments)))
    return run_dual_call(op, below, stack);
  run_call(op, traits, kind, below, stack);
}

// Of the device that the first tensor of the lists is on.
std::uint64_t part_bytes_for(c10::ArrayRef<c10::IValue> arguments) {
  for (const c10::IValue& argument : arguments) {
    if (!is_list_of_tensors(argument) || argument.toListRef().empty()) continue;
    const at::Tensor* const first = tensor_in(argument.toListRef()[0]);
    if (first == nullptr || !has_plain_memory(*first)) return 0;
    return machine().part_bytes.at(first->is_cuda() ? 1 : 0).load(std::memory_order_relaxed);
  }
  return 0;
}

// Of the device that the first argument, a tensor, is on.
std::uint64_t limit_for(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor* const first = tensor_in(arguments[0]);
  if (first == nullptr || !has_plain_memory(*first)) return 0;
  return machine().limit_bytes.at(first->is_cuda() ? 1 : 0).load(std::memory_order_relaxed);
}

// Runs the calls that `parts` makes of one, whose arguments were taken off the stack.
template <class Parts>
void run_each(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
              torch::jit::Stack* stack, const Parts& parts) {
  torch::jit::Stack results;
  for (std::size_t part = 0; part < parts.count(); ++part) {
    torch::jit::Stack mine = parts.arguments_of(part);
    run_seen(op, traits, below, &mine);
    Parts::add_results(results, mine);
  }
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

// A call on lists, or a convolution's backward pass, that would need too much memory at once. False: it is
// none, and nothing was done. Where autograd records, one call stays one node.
bool run_in_parts(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
                  torch::jit::Stack* stack) {
  if (!(traits.tensorwise || traits.convolution_backward) || at::GradMode::is_enabled()) return false;
  const c10::ArrayRef<c10::IValue> present = torch::jit::last(*stack, traits.arguments);
  const std::uint64_t most = traits.tensorwise ? part_bytes_for(present) : 0;
  const bool splits = traits.convolution_backward && SplitBackward::is_worth_it(present, limit_for(present));
  if (most == 0 && !splits) return false;
  const torch::jit::Stack arguments(present.begin(), present.end());
  if (splits) {
    torch::jit::drop(*stack, traits.arguments);
    run_each(op, traits, below, stack, SplitBackward(arguments));
    return true;
  }
  const ListGroups groups(traits, arguments, most);
  if (groups.count() < 2) return false;
  torch::jit::drop(*stack, traits.arguments);
  run_each(op, traits, below, stack, groups);
  return true;
}

// An elementwise op's backward pass, whose result may lie where its gradient does. False: as above.
bool run_over_gradient(const OpTraits& traits, c10::DispatchKeySet below, torch::jit::Stack* stack) {
  if (traits.over_gradient == nullptr || below_of(below) != Below::kPlain || at::GradMode::is_enabled())
    return false;
  const c10::ArrayRef<c10::IValue> present = torch::jit::last(*stack, traits.arguments);
  if (!ReusedGradient::is_worth_it(traits, present, limit_for(present))) return false;
  torch::jit::Stack mine = ReusedGradient::arguments_of(present);
  torch::jit::drop(*stack, traits.arguments);
  run_seen(*traits.over_gradient, traits_of(*traits.over_gradient), below, &mine);
  stack->push_back(std::move(mine.back()));
  return true;
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
  if (run_in_parts(op, traits, below, stack) || run_over_gradient(traits, below, stack)) return;
  run_seen(op, traits, below, stack);
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
