#include "recompute/verify/recipe_check.h"

#include <ATen/core/Tensor.h>

#include <exception>

#include "recompute/recipe/replay.h"
#include "recompute/threads/thread_state.h"
#include "recompute/verify/same_bytes.h"

namespace stowage::recompute {
namespace {

bool writes(const Recipe& recipe, const std::vector<StorageRecord*>& records, const StorageRecord* record) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i] == record && recipe.signature->tensors[i].role == Role::kWritten) return true;
  }
  return false;
}

// One whose geometry the recipe has, on its present storage.
at::Tensor written_tensor(const Geometry& seen, const c10::Storage& storage) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), seen.keys, seen.dtype);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(seen.view.sizes_arrayref(),
                                                      seen.view.strides_arrayref(), seen.offset);
  return tensor;
}

at::Tensor result_of(c10::ArrayRef<c10::IValue> results, const Output& output) {
  const c10::IValue& result = results[output.index];
  if (output.element < 0) return result.toTensor();
  return result.toTensorList().get(static_cast<std::size_t>(output.element));
}

}  // namespace

void RecipeCheck::begin(const Recipe& recipe, const std::vector<StorageRecord*>& records) try {
  const Deeper replaying(this_thread().replaying);
  const Deeper may_fail(this_thread().may_fail);
  for (std::size_t i = 0; i < records.size(); ++i) {
    homes_.emplace_back(records[i]->impl.lock());
    c10::Storage input;
    for (std::size_t before = 0; before < i && !input; ++before) {
      if (records[before] == records[i]) input = inputs_[before];
    }
    if (!input && recipe.inputs[i].value)
      input = writes(recipe, records, records[i]) ? copy_storage(homes_[i]) : homes_[i];
    inputs_.push_back(std::move(input));
  }
  begun_ = true;
} catch (const c10::OutOfMemoryError&) {
  homes_.clear();
  inputs_.clear();
}

std::optional<std::string> RecipeCheck::end(const Recipe& recipe, c10::ArrayRef<c10::IValue> results) try {
  begun_ = false;
  const Deeper replaying(this_thread().replaying);
  const Deeper may_fail(this_thread().may_fail);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Geometry& seen = recipe.signature->tensors[i];
    if (inputs_[i] || recipe.inputs[i].captured) continue;
    inputs_[i] = make_storage(seen.device, seen.storage_bytes);
    fill_with_nan(inputs_[i]);
  }
  std::optional<std::string> found = compare(recipe, results);
  homes_.clear();
  inputs_.clear();
  return found;
} catch (const c10::OutOfMemoryError&) {
  return std::nullopt;
} catch (const std::exception& error) {
  return std::string("run again, it failed: ") + error.what();
}

std::optional<std::string> RecipeCheck::compare(const Recipe& recipe, c10::ArrayRef<c10::IValue> results) {
  const std::vector<c10::Storage> made = replay(recipe, inputs_);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Output& output = recipe.outputs[i];
    const at::Tensor actual =
        output.written ? written_tensor(recipe.signature->tensors[output.index], homes_[output.index])
                       : result_of(results, output);
    if (const std::optional<Difference> found = difference(actual, made[i]))
      return (output.written ? "argument " : "result ") + std::to_string(output.index) + ": " + found->text();
  }
  return std::nullopt;
}

}  // namespace stowage::recompute
