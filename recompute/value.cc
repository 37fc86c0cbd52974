#include "recompute/value.h"

namespace stowage::recompute {

// A chain of values is as long as an iteration has ops: letting go of its end must not recurse down to its
// beginning.
void Value::forget_recipe() {
  depth = 0;
  if (!recipe) return;
  thread_local std::vector<std::shared_ptr<Recipe>> waiting;
  thread_local bool emptying = false;
  waiting.push_back(std::move(recipe));
  if (emptying) return;
  emptying = true;
  while (!waiting.empty()) {
    const std::shared_ptr<Recipe> next = std::move(waiting.back());
    waiting.pop_back();
  }
  emptying = false;
}

Value::~Value() { forget_recipe(); }

}  // namespace stowage::recompute
