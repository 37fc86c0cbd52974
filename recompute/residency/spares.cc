#include <algorithm>
#include <utility>

#include "recompute/recipe/walk_down.h"
#include "recompute/residency/replay_plan.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

// Goes down from what is evicted and stays so after this plan, whoever was used last (and will be wanted
// first) before the others. Dead values of the plan that it comes by are wanted again.
void Residency::find_wanted(Plan& plan, std::uint64_t stamp) {
  if (plan.steps.size() < 2) return;
  std::vector<StorageRecord*> away;
  book_.for_each([&](StorageRecord& record) {
    if (record.evicted && record.alive() && record.current->recipe->stamp != stamp) away.push_back(&record);
  });
  std::sort(away.begin(), away.end(), [](const StorageRecord* a, const StorageRecord* b) {
    return a->last_use != b->last_use ? a->last_use > b->last_use : a->serial > b->serial;
  });
  const std::uint64_t walk = book_.next_stamp();
  for (StorageRecord* const record : away) mark_wanted(plan, *record->current, record->last_use, stamp, walk);
}

void Residency::mark_wanted(Plan& plan, Value& evicted, std::uint64_t last_use, std::uint64_t planned,
                            std::uint64_t stamp) {
  waiting_.assign(1, &evicted);
  walk_down(waiting_, [&](Value& below) {
    if (below.stamp == stamp || materialised(below)) return false;
    below.stamp = stamp;
    if (below.recipe->stamp != planned) return true;
    if (below.home == nullptr || !below.home->alive()) plan.wanted.emplace(&below, last_use);
    return false;
  });
}

void Residency::keep_spare(Value& value, const c10::Storage& storage, std::uint64_t last_use) {
  // On a device values of several streams may start from it; nobody would wait for whom.
  if (value.kept || value.anchors > 0 || !value.recipe || !storage.device().is_cpu()) return;
  value.kept = true;
  value.anchor = storage;
  if (set_of(value) >= 0) neighbours_.take_off(value.cost_set, value.recipe->signature->cost_ns());
  value.cost_set = -1;
  spares_.push_back({Ref<Value>(&value), last_use, storage.nbytes()});
}

void Residency::release_spare(Value& value) {
  const Deeper quiet(this_thread().quiet);
  value.kept = false;
  value.anchor = c10::Storage();
}

void Residency::drop_spare(Value& value) {
  release_spare(value);
  if (value.recipe) join_neighbours(value);
  std::erase_if(spares_, [&](const Spare& spare) { return spare.value.get() == &value; });
}

// Those that no evicted value starts from any more.
void Residency::drop_unwanted_spares() {
  if (spares_.empty()) return;
  const std::uint64_t stamp = book_.next_stamp();
  waiting_.clear();
  book_.for_each([&](StorageRecord& record) {
    if (record.evicted && record.alive()) waiting_.push_back(record.current.get());
  });
  walk_down(waiting_, [stamp](Value& below) {
    return std::exchange(below.stamp, stamp) != stamp && !materialised(below);
  });
  std::erase_if(spares_, [&](const Spare& spare) {
    const bool unwanted = spare.value->stamp != stamp;
    if (unwanted) release_spare(*spare.value);
    return unwanted;
  });
}

}  // namespace stowage::recompute
