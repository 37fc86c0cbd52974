#include "recompute/interposer/below_autograd.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <exception>

#include "recompute/interposer/composites.h"
#include "recompute/interposer/kernel_keys.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/op_traits.h"
#include "recompute/ops/tensor_parts.h"
#include "recompute/threads/seen_thread.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

// Kernels run with both keys off: what they call is theirs.
void run_kernel(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
                torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKeySet({kAboveAutograd, kBelowAutograd}));
  OpCall call(traits, below_of(below));
  call.begin(torch::jit::last(*stack, traits.arguments));
  op.redispatchBoxed(below, stack);
  call.end(torch::jit::last(*stack, traits.returns));
  if (at::Tensor* const copied = this_thread().copied; copied != nullptr && traits.name == "aten::clone")
    *copied = torch::jit::last(*stack, 1)[0].toTensor();
}

void on_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below =
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kBelowAutograd);
  const OpTraits& traits = traits_of(op);
  if (!machine().on.load(std::memory_order_relaxed)) return op.redispatchBoxed(below, stack);
  if (is_composite_call(op, traits, below)) return run_composite(op, traits, below, stack);
  if (traits.passes && below_of(below) == Below::kPlain) return op.redispatchBoxed(below, stack);
  run_kernel(op, traits, below, stack);
}

// A view, which needs not be seen otherwise.
void on_make_dual(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  any_duals.store(true, std::memory_order_relaxed);
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kAboveAutograd), stack);
}

bool is_dual(const c10::IValue& argument) {
  if (const at::Tensor* const tensor = tensor_in(argument)) return has_tangent(*tensor);
  if (!is_list_of_tensors(argument)) return false;
  const auto elements = argument.toListRef();
  return std::any_of(elements.begin(), elements.end(), [](const c10::IValue& element) {
    const at::Tensor* const tensor = tensor_in(element);
    return tensor != nullptr && has_tangent(*tensor);
  });
}

bool requires_grad(const c10::IValue& argument) {
  const at::Tensor* const tensor = tensor_in(argument);
  return tensor != nullptr && tensor->requires_grad();
}

bool sees_kernels = false;  // set before any op is seen

}  // namespace

void see_below_autograd() {
  auto* const aten = new torch::Library(torch::Library::IMPL, "aten", kAboveAutograd, __FILE__, __LINE__);
  try {
    auto* const library = new torch::Library(torch::Library::IMPL, "_", kBelowAutograd, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&on_kernel>());
    aten->impl(kMakesDuals, torch::CppFunction::makeFromBoxedFunction<&on_make_dual>());
    sees_kernels = true;
  } catch (const std::exception&) {
    aten->impl(kMakesDuals, torch::CppFunction::makeFallthrough());
  }
}

bool is_dual_call(c10::DispatchKeySet below, c10::ArrayRef<c10::IValue> arguments) {
  if (!any_duals.load(std::memory_order_relaxed) || !is_dense_call(below)) return false;
  return std::any_of(arguments.begin(), arguments.end(), is_dual);
}

bool is_copying_call(const OpTraits& traits, c10::DispatchKeySet below,
                     c10::ArrayRef<c10::IValue> arguments) {
  if (!traits.copies_self || !sees_kernels || !at::GradMode::is_enabled()) return false;
  return below_of(below) == Below::kPlain && std::any_of(arguments.begin(), arguments.end(), requires_grad);
}

void run_seeing_kernels(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack) {
  any_seen_kernels.store(true, std::memory_order_relaxed);
  const c10::impl::IncludeDispatchKeyGuard on(kBelowAutograd);
  op.redispatchBoxed(below | c10::DispatchKeySet(kBelowAutograd), stack);
}

}  // namespace stowage::recompute
