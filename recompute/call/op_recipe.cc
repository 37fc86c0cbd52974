// OpCall: how what a call makes can be made again.
#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>

#include "recompute/call/op_call.h"
#include "recompute/ops/parameter.h"
#include "recompute/storage/raw_writes.h"
#include "recompute/threads/seen_thread.h"
#include "recompute/threads/suspension.h"

namespace stowage::recompute {
namespace {

constexpr std::uint32_t kDeepest = 20000;  // ops from a leaf; history that long is cut

// One that only warns of what does not repeat runs it.
bool repeats(const OpTraits& op) {
  if (op.unrepeatable) return false;
  const at::Context& context = at::globalContext();
  return !op.unrepeatable_kernel ||
         (context.deterministicAlgorithms() && !context.deterministicAlgorithmsWarnOnly());
}

// The one that the op draws from; undefined where the device is not served.
at::Generator generator_of(c10::ArrayRef<c10::IValue> arguments, std::optional<c10::Device> device) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isGenerator()) return argument.toGenerator();
    if (!device && argument.isDevice()) device = argument.toDevice();
  }
  const c10::Device on = device.value_or(c10::Device(c10::kCPU));
  return on.is_cpu() || on.is_cuda() ? at::globalContext().defaultGenerator(on) : at::Generator();
}

}  // namespace

bool OpCall::may_record() const {
  if (below_ != Below::kPlain || !traits_.trusted || traits_.factory || traits_.resizes || !repeats(traits_))
    return false;
  if (hidden_ || thread_.opaque > 0 || unseen_op_runs() || c10::InferenceMode::is_enabled()) return false;
  if (called_by_kernel() && !traits_.random) return false;  // torch::rand_like looks like a kernel's call
  if (!parts_.empty())
    return false;  // of a dual tensor: autograd may run a decomposition in the kernel's place
  return std::all_of(uses_.begin(), uses_.end(), [&](const Use& use) {
    if (use.unread()) return true;
    if (use.record->may_change()) return false;
    if (use.record->bytes > 0 && use.record->data == nullptr) return false;  // a zero tensor, resized
    if (!use.written || use.statistics) return true;
    if (is_parameter(*use.tensor)) return false;  // history ends at an optimizer's step
    return use.role == Role::kOverwritten || static_cast<bool>(use.record->current->recipe);
  });
}

Input OpCall::input_of(const Use& use) {
  Input input;
  if (use.role == Role::kOverwritten || use.unread()) return input;
  if (use.record->watch && !use.record->current->recipe) note_content(*use.record);
  const Ref<Value>& value = use.record->current;
  const std::uint64_t bytes = use.record->bytes;
  if (use.role == Role::kRead && !value->recipe && use.tensor->is_cpu() && bytes <= sizeof(Content)) {
    input.captured = std::make_unique<Content>();
    std::memcpy(input.captured->data(), use.tensor->storage().data(), bytes);
    return input;
  }
  input.value = value;
  depth_ = std::max(depth_, value->depth + 1);
  return input;
}

void OpCall::make_recipe(c10::ArrayRef<c10::IValue> arguments) {
  if (traits_.random && uses_.empty()) return;  // which device it draws on is not known here
  recipe_ = Ref<Recipe>(new Recipe);
  c10::SmallVector<Seen, 6> tensors;
  for (const Use& use : uses_) {
    recipe_->inputs.push_back(input_of(use));
    tensors.push_back({use.tensor, use.record->bytes, use.role});
  }
  if (depth_ > kDeepest) return recipe_.reset();
  if (!hash_) hash_.emplace(traits_, arguments);
  recipe_->signature = machine_.signatures.signature_of(*hash_, traits_, arguments, tensors);
  if (!recipe_->signature->environment.can_be_restored()) return recipe_.reset();
  if (verification_ != nullptr) recipe_->source = verification_->source;
  if (traits_.random) note_random_state(arguments);
}

void OpCall::begin_draw(c10::ArrayRef<c10::IValue> arguments) {
  generator_ =
      generator_of(arguments, uses_.empty() ? std::optional<c10::Device>() : uses_[0].tensor->device());
  if (generator_.defined()) machine_.draws.begin(draw_, generator_.unsafeGetGeneratorImpl());
}

void OpCall::note_random_state(c10::ArrayRef<c10::IValue> arguments) {
  const Replaying how = replaying_of(traits_.drawing, *traits_.handle, arguments, recipe_->signature->cuda);
  if (how == Replaying::kNeedsNoState) return;
  if (how == Replaying::kIsImpossible || !draw_.alone) return recipe_.reset();
  recipe_->random = std::make_unique<RandomState>(generator_);
}

}  // namespace stowage::recompute
