#include "recompute/recipe/value.h"

#include <vector>

namespace stowage::recompute {

Value::Value() = default;

Value::~Value() { forget_recipe(); }

void Value::set_recipe(Ref<Recipe> made_by, std::uint32_t ops, bool written, std::uint32_t index,
                       std::int32_t element, std::uint64_t storage_bytes) {
  recipe = std::move(made_by);
  depth = ops;
  output = static_cast<std::uint32_t>(recipe->outputs.size());
  recipe->outputs.push_back({this, storage_bytes, index, element, written});
}

// A chain of values is as long as an iteration has ops: letting go of its end must not recurse down to its
// beginning.
void Value::forget_recipe() {
  depth = 0;
  if (!recipe) return;
  recipe->outputs[output].value = nullptr;
  if (!recipe.alone()) return recipe.reset();
  thread_local std::vector<Ref<Recipe>> waiting;
  thread_local bool emptying = false;
  waiting.push_back(std::move(recipe));
  if (emptying) return;
  emptying = true;
  while (!waiting.empty()) {
    const Ref<Recipe> next = std::move(waiting.back());
    waiting.pop_back();
  }
  emptying = false;
}

}  // namespace stowage::recompute
