#include "recompute/residency/spares.h"

#include <algorithm>
#include <utility>

#include "recompute/recipe/walk_down.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

// Goes down from what is evicted and stays so after the plan, whoever was used last (and will be wanted
// first) before the others. Dead values of the plan that it comes by are wanted again.
Spares::Wanted Spares::wanted_of(std::uint64_t planned) {
  Wanted wanted;
  if (!keeps_more_) return wanted;
  std::vector<StorageRecord*> away;
  book_.for_each([&](StorageRecord& record) {
    if (record.evicted && record.alive() && record.current->recipe->stamp != planned) away.push_back(&record);
  });
  std::sort(away.begin(), away.end(), [](const StorageRecord* a, const StorageRecord* b) {
    return a->last_use != b->last_use ? a->last_use > b->last_use : a->serial > b->serial;
  });
  const std::uint64_t walk = book_.next_stamp();
  for (StorageRecord* const record : away)
    mark_wanted(*record->current, record->last_use, planned, walk, wanted);
  return wanted;
}

void Spares::mark_wanted(Value& evicted, std::uint64_t last_use, std::uint64_t planned, std::uint64_t stamp,
                         Wanted& wanted) {
  waiting_.assign(1, &evicted);
  walk_down(waiting_, [&](Value& below) {
    if (below.stamp == stamp || materialised(below)) return false;
    below.stamp = stamp;
    if (below.recipe->stamp != planned) return true;
    if (below.home == nullptr || !below.home->alive()) wanted.emplace(&below, last_use);
    return false;
  });
}

void Spares::keep(Value& value, const c10::Storage& storage, std::uint64_t last_use) {
  if (value.kept || value.anchors > 0 || !value.recipe || !storage.device().is_cpu()) return;
  value.kept = true;
  value.anchor = storage;
  neighbours_.leave(value);
  spares_.push_back({Ref<Value>(&value), last_use, storage.nbytes()});
}

void Spares::release(Value& value) {
  const Deeper quiet(this_thread().quiet);
  value.kept = false;
  value.anchor = c10::Storage();
}

void Spares::drop(Value& value) {
  release(value);
  if (value.recipe) neighbours_.join(value);
  std::erase_if(spares_, [&](const Spare& spare) { return spare.value.get() == &value; });
}

void Spares::drop_unwanted() {
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
    if (unwanted) release(*spare.value);
    return unwanted;
  });
}

}  // namespace stowage::recompute
