#include "recompute/interposer/composites.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "recompute/interposer/kernel_keys.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/op_traits.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/ops/tensor_parts.h"
#include "recompute/storage/record_lock.h"

namespace stowage::recompute {
namespace {

// True if a composite has a kernel of its own for the kind of tensor that it is called with.
bool has_kernel_for(const c10::OperatorHandle& op, c10::DispatchKeySet below) {
  if (has_only(below, kPlainKeys)) return false;
  if (below.has(c10::DispatchKey::AutogradNestedTensor) &&
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutogradNestedTensor))
    return true;
  return std::any_of(kKernelKeys.begin(), kKernelKeys.end(),
                     [&](c10::DispatchKey key) { return below.has(key) && op.hasKernelForDispatchKey(key); });
}

StorageRecord* bring_back(const at::TensorBase& tensor) {
  const c10::Storage* const storage = served_storage(tensor);
  if (storage == nullptr) return nullptr;
  StorageRecord* const record = machine().book.find(storage->unsafeGetStorageImpl());
  if (record != nullptr) machine().residency.restore(*record);
  return record;
}

// A few composites read index tensors through pointers (tensor_split, packed sequences), or the sizes of
// nested ones: the former are resident while the composite runs, the latter for good.
class HeldIndices {
 public:
  explicit HeldIndices(c10::ArrayRef<c10::IValue> arguments) {
    Machine& all = machine();
    if (!all.residency.any_away()) return;
    const std::lock_guard<std::recursive_mutex> lock(all.mutex);
    TensorParts parts;
    for (const c10::IValue& argument : arguments) {
      const at::Tensor* const tensor = tensor_in(argument);
      if (tensor == nullptr) continue;
      if (c10::isIntegralType(tensor->scalar_type(), /*includeBool=*/false)) hold(*tensor);
      if (!is_dense(*tensor)) append_parts(*tensor, parts);
    }
    for (const at::Tensor& part : parts) {
      if (StorageRecord* const record = bring_back(part)) record->pinned = true;
    }
  }
  HeldIndices(const HeldIndices&) = delete;
  HeldIndices& operator=(const HeldIndices&) = delete;
  ~HeldIndices() {
    if (held_.empty()) return;
    const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
    held_.clear();
  }

 private:
  void hold(const at::TensorBase& tensor) {
    if (StorageRecord* const record = bring_back(tensor)) held_.emplace_back(record);
  }

  std::vector<RecordLock> held_;
};

}  // namespace

bool is_composite_call(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below) {
  return traits.composite && !has_kernel_for(op, below);
}

void run_composite(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
                   torch::jit::Stack* stack) {
  const HeldIndices held(torch::jit::last(*stack, traits.arguments));
  op.redispatchBoxed(below, stack);
}

}  // namespace stowage::recompute
