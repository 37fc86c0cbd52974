#include "recompute/residency/neighbour_costs.h"

#include <vector>

namespace stowage::recompute {

void NeighbourCosts::start_set(Value& alone) {
  alone.cost_set = sets_.make(alone.recipe->signature->cost_ns());
  alone.cost_generation = sets_.generation();
}

// Dead values on the way, which nobody evicted, are taken in as they are found.
void NeighbourCosts::join(Value& value) {
  constexpr std::size_t kManySets = 1u << 20;
  if (sets_.size() > kManySets) sets_.clear();
  start_set(value);
  std::vector<Value*> waiting{&value};
  while (!waiting.empty()) {
    Value& at = *waiting.back();
    waiting.pop_back();
    for (const Input& input : at.recipe->inputs) {
      Value* const next = input.value.get();
      if (next == nullptr || !next->recipe || materialised(*next)) continue;
      if (set_of(*next) < 0) {
        start_set(*next);
        waiting.push_back(next);
      }
      sets_.join(value.cost_set, next->cost_set);
    }
  }
  book_.for_each([&](StorageRecord& other) {
    if (!other.evicted || set_of(*other.current) < 0 || !other.current->recipe) return;
    for (const Input& input : other.current->recipe->inputs) {
      if (input.value.get() == &value) sets_.join(value.cost_set, other.current->cost_set);
    }
  });
}

void NeighbourCosts::leave(Value& value) {
  if (set_of(value) >= 0) sets_.take_off(value.cost_set, value.recipe->signature->cost_ns());
  value.cost_set = -1;
}

}  // namespace stowage::recompute
