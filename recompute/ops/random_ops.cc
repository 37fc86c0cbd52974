#include "recompute/ops/random_ops.h"

#include <ATen/Functions.h>
#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "recompute/ops/schema_names.h"

namespace stowage::recompute {
namespace {

// Random numbers only where dropout is above 0, and then from the device's default generator.
constexpr std::array kDrawingInKernels = {
    Name("_scaled_dot_product_flash_attention"),
    Name("_scaled_dot_product_efficient_attention"),
    Name("_scaled_dot_product_cudnn_attention"),
    Name("_scaled_dot_product_fused_attention_overrideable"),
    Name("_scaled_dot_product_flash_attention_for_cpu"),
    Name("_scaled_dot_product_attention_math_for_mps"),
    Name("_flash_attention_forward"),
    Name("_efficient_attention_forward"),
    Name("_cudnn_attention_forward"),
    Name("_triton_scaled_dot_attention"),
};

// Tagged, but seed and offset of what they draw are among their arguments, or they draw nothing at all.
constexpr std::array kDrawingNothing = {
    Name("_scaled_dot_product_efficient_attention_backward"),
    Name("_scaled_dot_product_cudnn_attention_backward"),
    Name("_cudnn_attention_backward"),
    Name("_flash_attention_forward_no_dropout_inplace"),
    Name("_cudnn_attention_forward_no_dropout_inplace"),
    Name("_fill_mem_eff_dropout_mask_"),
    Name("_fused_sdp_choice"),
    Name("_nested_tensor_softmax_with_shape"),
};

// Layers of libraries that keep the state of their dropout to themselves. (op_lists.cc forbids these, too.)
constexpr std::array kOfLibraries = {
    Name("_cudnn_rnn"),
    Name("miopen_rnn"),
    Name("_lstm_mps"),
    Name("_cudnn_init_dropout_state"),
};

constexpr Name kGenerator = "generator";

// It takes a generator besides all that `schema` takes, by the same names.
bool is_equivalent(const c10::FunctionSchema& schema, const c10::FunctionSchema& candidate) {
  if (candidate.name() != schema.name() || !position_of(candidate, kGenerator)) return false;
  if (candidate.arguments().size() != schema.arguments().size() + 1) return false;
  return std::all_of(schema.arguments().begin(), schema.arguments().end(), [&](const c10::Argument& one) {
    const auto at = position_of(candidate, one.name());
    return at && *candidate.arguments()[*at].type() == *one.type();
  });
}

const c10::OperatorHandle* find_equivalent(const c10::FunctionSchema& schema) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name != schema.name()) continue;
    const auto op = dispatcher.findSchema(name);
    if (op && is_equivalent(schema, op->schema())) return new c10::OperatorHandle(*op);
  }
  return nullptr;
}

const c10::OperatorHandle* find_fused_dropout() {
  const auto op = c10::Dispatcher::singleton().findSchema({"aten::_fused_dropout", ""});
  return op ? new c10::OperatorHandle(*op) : nullptr;
}

// On CUDA native_dropout(input, p, train) draws as _fused_dropout(input, 1 - p) does: one kernel, whose mask
// is of bytes here and of bools there. It draws nothing where it drops all; the CPU's does.
Replaying replaying_of_dropout(const Drawing& drawing, c10::ArrayRef<c10::IValue> arguments, bool cuda) {
  const bool trains = arguments[2].isNone() || arguments[2].toBool();
  if (!trains || (cuda && arguments[1].toDouble() == 1.0)) return Replaying::kNeedsNoState;
  return !cuda || drawing.equivalent != nullptr ? Replaying::kNeedsState : Replaying::kIsImpossible;
}

// The CPU's native_dropout makes these calls (ATen/native/Dropout.cpp), with the default generator.
void drop_out_on_cpu(const at::Generator& generator, torch::jit::Stack& stack) {
  const at::Tensor input = stack[0].toTensor();
  const double keeps = 1.0 - stack[1].toDouble();
  at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  mask.bernoulli_(keeps, generator);
  stack = {input.mul(mask).mul_(keeps == 0.0 ? 0.0 : 1.0 / keeps), mask};
}

Replaying replaying_of_kernel(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments) {
  const auto dropout = position_of(schema, "dropout_p");
  const bool none = dropout && arguments[*dropout].isDouble() && arguments[*dropout].toDouble() == 0.0;
  return none ? Replaying::kNeedsNoState : Replaying::kIsImpossible;
}

// The arguments of `op` on the stack become those of `equivalent`, by name.
void rearrange(const c10::FunctionSchema& op, const c10::FunctionSchema& equivalent,
               const at::Generator& generator, torch::jit::Stack& stack) {
  torch::jit::Stack rearranged;
  for (const c10::Argument& wanted : equivalent.arguments()) {
    const auto at = position_of(op, wanted.name());
    rearranged.push_back(at ? stack[*at] : c10::IValue(generator));
  }
  stack = std::move(rearranged);
}

}  // namespace

Drawing drawing_of(const c10::FunctionSchema& schema, bool composite) {
  if (composite) return {Draws::kInsideOtherOps};
  if (position_of(schema, kGenerator)) return {Draws::kFromArgument};
  const Name name = plain_name(schema);
  if (name == "native_dropout" && schema.overload_name().empty())
    return {Draws::kFusedDropout, find_fused_dropout()};
  if (name == "native_dropout") return {Draws::kInsideKernel};
  if (among(kDrawingNothing, name)) return {Draws::kNothing};
  if (among(kDrawingInKernels, name)) return {Draws::kInsideKernel};
  if (among(kOfLibraries, name)) return {Draws::kInsideKernel};
  if (const c10::OperatorHandle* const equivalent = find_equivalent(schema))
    return {Draws::kAsEquivalent, equivalent};
  return {Draws::kUnknown};
}

Replaying replaying_of(const Drawing& drawing, const c10::OperatorHandle& op,
                       c10::ArrayRef<c10::IValue> arguments, bool cuda) {
  switch (drawing.how) {
    case Draws::kNothing:
      return Replaying::kNeedsNoState;
    case Draws::kFromArgument:
    case Draws::kAsEquivalent:
      return Replaying::kNeedsState;
    case Draws::kFusedDropout:
      return replaying_of_dropout(drawing, arguments, cuda);
    case Draws::kInsideKernel:
      return replaying_of_kernel(op.schema(), arguments);
    case Draws::kInsideOtherOps:
    case Draws::kUnknown:
      break;
  }
  return Replaying::kIsImpossible;
}

void call_with(const at::Generator& generator, const Drawing& drawing, const c10::OperatorHandle& op,
               torch::jit::Stack& stack) {
  if (drawing.how == Draws::kFromArgument) {
    stack[*position_of(op.schema(), kGenerator)] = generator;
    return op.callBoxed(&stack);
  }
  if (drawing.how == Draws::kFusedDropout) {
    if (generator.device().is_cpu()) return drop_out_on_cpu(generator, stack);
    stack = {stack[0], 1.0 - stack[1].toDouble(), generator};
  } else {
    rearrange(op.schema(), drawing.equivalent->schema(), generator, stack);
  }
  drawing.equivalent->callBoxed(&stack);
}

}  // namespace stowage::recompute
