#include "recompute/residency/replay_plan.h"

#include <c10/util/Exception.h>

#include <utility>

#include "recompute/ops/op_traits.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

void ReplayPlan::keep(const Value& value, c10::Storage storage) {
  made[&value] = std::move(storage);
  order.push_back(&value);
}

std::uint64_t ReplayPlan::drop_made(std::uint64_t bytes, Place place) {
  std::uint64_t freed = 0;
  std::erase_if(order, [&](const Value* const value) {
    if (freed >= bytes) return false;
    const auto found = made.find(value);
    if (found == made.end()) return true;
    const c10::Storage& storage = found->second;
    if (storage.use_count() > 1 || !place.covers(storage.device())) return false;
    freed += storage.nbytes();
    made.erase(found);
    return true;
  });
  return freed;
}

// Depth first, without recursion: chains are long.
ReplayPlan plan_replay(const Value& target, std::uint64_t stamp) {
  ReplayPlan plan;
  struct Frame {
    Ref<Recipe> recipe;
    std::size_t next;
  };
  std::vector<Frame> frames{{target.recipe, 0}};
  target.recipe->stamp = stamp;
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next == frame.recipe->inputs.size()) {
      plan.steps.push_back(std::move(frame.recipe));
      frames.pop_back();
      continue;
    }
    const Ref<Value>& input = frame.recipe->inputs[frame.next++].value;
    if (!input || materialised(*input)) continue;
    ++plan.uses[input.get()];
    TORCH_CHECK(
        input->recipe, "stowage: an input of ", frame.recipe->signature->op->name,
        " that a recomputation starts from is lost; please report this, and run the job without a budget");
    if (input->recipe->stamp == stamp) continue;
    input->recipe->stamp = stamp;
    frames.push_back({input->recipe, 0});
  }
  return plan;
}

}  // namespace stowage::recompute
