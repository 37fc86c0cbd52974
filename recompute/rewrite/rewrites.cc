#include "recompute/rewrite/rewrites.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/rewrite/early_masks.h"
#include "recompute/rewrite/encodings.h"
#include "recompute/rewrite/list_groups.h"
#include "recompute/rewrite/reused_gradient.h"
#include "recompute/rewrite/split_backward.h"
#include "recompute/rewrite/stand_ins.h"

namespace stowage::recompute {
namespace {

c10::OperatorHandle schema_of(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
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
void run_each(const RewritableCall& call, const Parts& parts) {
  torch::jit::Stack results;
  for (std::size_t part = 0; part < parts.count(); ++part) {
    torch::jit::Stack mine = parts.arguments_of(part);
    call.run(call.op, call.traits, call.below, &mine);
    Parts::add_results(results, mine);
  }
  for (c10::IValue& result : results) call.stack->push_back(std::move(result));
}

// Of an op with one result, on arguments in the place of the call's.
void run_instead(const RewritableCall& call, const c10::OperatorHandle& op, torch::jit::Stack arguments) {
  torch::jit::drop(*call.stack, call.traits.arguments);
  call.run(op, traits_of(op), call.below, &arguments);
  call.stack->push_back(std::move(arguments.back()));
}

// A call on lists, or a convolution's backward pass, that would need too much memory at once. Where autograd
// records, one call stays one node.
bool run_in_parts(const RewritableCall& call) {
  const OpTraits& traits = call.traits;
  if (!(traits.tensorwise || traits.convolution_backward) || at::GradMode::is_enabled() ||
      !machine().splits_ops.load(std::memory_order_relaxed))
    return false;
  const c10::ArrayRef<c10::IValue> present = call.arguments();
  const std::uint64_t most = traits.tensorwise ? part_bytes_for(present) : 0;
  const bool splits = traits.convolution_backward && SplitBackward::is_worth_it(present, limit_for(present));
  if (most == 0 && !splits) return false;
  const torch::jit::Stack arguments(present.begin(), present.end());
  if (splits) {
    torch::jit::drop(*call.stack, traits.arguments);
    run_each(call, SplitBackward(arguments));
    return true;
  }
  const ListGroups groups(traits, arguments, most);
  if (groups.count() < 2) return false;
  torch::jit::drop(*call.stack, traits.arguments);
  run_each(call, groups);
  return true;
}

bool may_write_over_gradient(const RewritableCall& call) {
  return call.traits.over_gradient != nullptr &&
         may_write_over_gradient(call.traits, call.arguments(), limit_for(call.arguments()));
}

// A backward pass whose result may lie where its gradient does.
bool run_over_gradient(const RewritableCall& call) {
  if (!call.plain || at::GradMode::is_enabled() || !may_write_over_gradient(call)) return false;
  torch::jit::Stack arguments(call.arguments().begin(), call.arguments().end());
  arguments.push_back(arguments[0]);  // where the result goes
  run_instead(call, *call.traits.over_gradient, std::move(arguments));
  return true;
}

// What an op of the backward pass will read of its tensors may be kept in fewer bytes.
bool run_encoding(const RewritableCall& call) {
  if (call.traits.encodable == Encodable::kNothing || !call.plain || !at::GradMode::is_enabled() ||
      !machine().encodes.load(std::memory_order_relaxed))
    return false;
  const std::uint64_t limit = limit_for(call.arguments());
  if (limit == 0) return false;
  if (call.traits.encodable == Encodable::kServed) {
    ServedCall served(call.traits, call.arguments());
    call.run(call.op, call.traits, call.below, call.stack);
    served.end(torch::jit::last(*call.stack, call.traits.returns));
    return true;
  }
  const Encoding encoding(call.traits, call.arguments(), limit);
  const c10::IValue pooled = is_pooling(call.traits.encodable) ? call.arguments()[0] : c10::IValue();
  call.run(call.op, call.traits, call.below, call.stack);
  const c10::ArrayRef<c10::IValue> results = torch::jit::last(*call.stack, call.traits.returns);
  encoding.end(results);
  if (pooled.isTensor()) note_pooled(pooled.toTensor(), results);
  return true;
}

c10::IValue& saved_argument(const RewritableCall& call) {
  return torch::jit::peek(*call.stack, static_cast<std::size_t>(call.traits.encoded_argument),
                          call.traits.arguments);
}

// An op of the backward pass that what is in memory anyway serves as well as what was saved.
void put_stand_in(const RewritableCall& call) {
  if (!call.traits.served_backward || !call.plain || at::GradMode::is_enabled()) return;
  if (at::Tensor stand_in = stand_in_for(call.traits, call.arguments()); stand_in.defined())
    saved_argument(call) = std::move(stand_in);
}

// An op of the backward pass, of whose arguments one is kept in fewer bytes.
bool run_decoded(const RewritableCall& call) {
  const OpTraits& traits = call.traits;
  if (traits.encoded_argument < 0 || traits.served_backward || !call.plain || at::GradMode::is_enabled())
    return false;
  const at::Tensor decoded = decoded_argument(traits, call.arguments());
  if (!decoded.defined()) return false;
  saved_argument(call) = decoded;
  call.run(call.op, traits, call.below, call.stack);
  return true;
}

// The zeros of a ReLU before a pooling are set in the pooling's gradient.
bool run_masked_early(const RewritableCall& call) {
  static const auto& mask_op = *new c10::OperatorHandle(schema_of("aten::threshold_backward", ""));
  if (!call.traits.pooling_backward || !call.plain || at::GradMode::is_enabled()) return false;
  const EarlyMask mask = early_mask_for(call.arguments());
  if (!mask.pooled.defined()) return false;
  torch::jit::Stack masked{call.arguments()[0], mask.pooled, c10::Scalar(0)};
  call.run(mask_op, traits_of(mask_op), call.below, &masked);
  torch::jit::peek(*call.stack, 0, call.traits.arguments) = std::move(masked.back());
  if (!run_decoded(call)) call.run(call.op, call.traits, call.below, call.stack);
  note_masked(call.stack->back().toTensor(), mask);
  return true;
}

// A ReLU's backward pass on a gradient that has its zeros.
bool run_nothing(const RewritableCall& call) {
  if (!call.traits.masks_gradient || !call.plain || at::GradMode::is_enabled() ||
      !is_masked_already(call.arguments()))
    return false;
  c10::IValue gradient = call.arguments()[0];
  torch::jit::drop(*call.stack, call.traits.arguments);
  call.stack->push_back(std::move(gradient));
  return true;
}

}  // namespace

bool run_rewritten(const RewritableCall& call) {
  put_stand_in(call);
  return run_encoding(call) || run_masked_early(call) || run_nothing(call) || run_decoded(call) ||
         run_in_parts(call) || run_over_gradient(call);
}

}  // namespace stowage::recompute
