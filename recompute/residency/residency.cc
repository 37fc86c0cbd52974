#include "recompute/residency/residency.h"

#include <algorithm>
#include <cstring>

#include "core/support/check.h"
#include "recompute/recipe/replay.h"
#include "recompute/residency/guard_range.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/raw_writes.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

constexpr std::size_t kFarthest = 50000;  // values on the way to the leaves; beyond, a value stays

}  // namespace

bool Residency::materialised(const Value& value) {
  if (value.kept) return true;
  return value.home != nullptr && !value.closing && !value.home->evicted && value.home->alive();
}

bool Residency::may_evict(const StorageRecord& record) {
  if (record.evicted || record.pinned || record.locks > 0 || record.bytes == 0) return false;
  if (record.may_change() || record.holds > 0) return false;
  if (!record.current->recipe || !record.alive() || !guard_covers(record.bytes)) return false;
  const c10::StorageImpl& impl = *record.address;
  return impl.data() == record.data && impl.nbytes() == record.bytes && owned_by_allocator(impl);
}

bool Residency::evict(StorageRecord& record) {
  if (unseen_op_runs() || !may_evict(record)) return false;
  const c10::Storage held(record.impl.lock());
  if (!held) return false;
  std::vector<Ref<Value>> leaves;
  if (!book_.collect_leaves(record.current, kFarthest, leaves)) return false;
  if (!anchor_leaves(leaves)) return false;
  if (watch_ != nullptr) watch_->before_eviction(record);
  record.leaves = std::move(leaves);
  join_neighbours(*record.current);
  c10::StorageImpl& impl = *record.address;
  if (poison_ && impl.device_type() == c10::kCPU) std::memset(impl.mutable_data(), 0xFF, record.bytes);
  const c10::Device device = impl.device();
  record.evicted = true;
  ++counts_.evictions;
  count_away(record.bytes, true);
  counts_.evicted_total += record.bytes;
  const Deeper quiet(this_thread().quiet);
  impl.set_data_ptr_noswap(c10::DataPtr(guard_address(), device));  // frees what it held
  return true;
}

// False, and nothing done, if one of them is about to be overwritten or dies at this moment in another
// thread.
bool Residency::anchor_leaves(std::vector<Ref<Value>>& leaves) {
  std::vector<c10::Storage> held;
  for (const auto& leaf : leaves) {
    if (leaf->kept) {
      held.push_back(leaf->anchor);
      continue;
    }
    if (leaf->closing || leaf->frozen) return false;
    held.emplace_back(leaf->home->impl.lock());
    if (!held.back()) return false;
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i]->anchors++ == 0) leaves[i]->anchor = std::move(held[i]);
  }
  return true;
}

NeighbourSets::Id Residency::set_of(Value& value) {
  return value.cost_generation == neighbours_.generation() ? value.cost_set : -1;
}

// `value` is about to be away: its set takes in the sets of absent values next to it. Dead values on the way,
// which nobody evicted, are taken in as they are found.
void Residency::join_neighbours(Value& value) {
  constexpr std::size_t kManySets = 1u << 20;
  if (neighbours_.size() > kManySets) neighbours_.clear();
  const auto start_set = [this](Value& alone) {
    alone.cost_set = neighbours_.make(alone.recipe->signature->cost_ns());
    alone.cost_generation = neighbours_.generation();
  };
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
      neighbours_.join(value.cost_set, next->cost_set);
    }
  }
  book_.for_each([&](StorageRecord& other) {
    if (!other.evicted || set_of(*other.current) < 0 || !other.current->recipe) return;
    for (const Input& input : other.current->recipe->inputs) {
      if (input.value.get() == &value) neighbours_.join(value.cost_set, other.current->cost_set);
    }
  });
}

// Those that live; the dead need nothing any more.
std::vector<StorageRecord*> Residency::dependents_of(const Ref<Value>& leaf) {
  std::vector<StorageRecord*> dependents;
  book_.for_each([&](StorageRecord& other) {
    if (std::find(other.leaves.begin(), other.leaves.end(), leaf) != other.leaves.end())
      dependents.push_back(&other);
  });
  const auto is_dead = [this](StorageRecord* dependent) {
    if (dependent->alive()) return false;
    count_away(dependent->bytes, false);
    dependent->evicted = false;
    dependent->pinned = true;
    StorageBook::release_leaves(*dependent);
    return true;
  };
  std::erase_if(dependents, is_dead);
  return dependents;
}

// Bytes of the leaves that are as likely to be written as a parameter is, once, against those of the values
// that start from them. Where one parameter is written the others follow.
bool Residency::is_cheaper_kept(const StorageRecord& leaf, std::span<StorageRecord* const> dependents) {
  const std::uint64_t stamp = book_.next_stamp();
  std::uint64_t away = 0;
  std::uint64_t kept = leaf.bytes;
  leaf.current->stamp = stamp;
  for (const StorageRecord* const dependent : dependents) {
    away += dependent->bytes;
    for (const Ref<Value>& other : dependent->leaves) {
      if (other->stamp == stamp || other->home == nullptr || !other->home->pinned) continue;
      other->stamp = stamp;
      kept += other->home->bytes;
    }
  }
  return kept <= away;
}

void Residency::keep_content(StorageRecord& record) {
  const Deeper replaying(this_thread().replaying);
  const RecordLock lock(&record);
  const Ref<Value> content = record.current;
  const c10::Storage held(record.impl.lock());
  STOWAGE_CHECK(static_cast<bool>(held), "what an op is about to write is alive");
  require_no_raw_writes(record);
  const OnOwnStream own(record);
  c10::Storage copy = copy_storage(held);
  if (content->anchors == 0) {  // while room was made for the copy, whoever needed it came back
    content->frozen = true;
    return;
  }
  content->kept = true;
  content->anchor = std::move(copy);
  book_.overwrite(record, Ref<Value>(new Value));
}

void Residency::restore_each(std::span<StorageRecord* const> records) {
  std::vector<RecordLock> locks;  // or a small budget evicts one for the other for ever
  locks.reserve(records.size());
  for (StorageRecord* record : records) locks.emplace_back(record);
  for (StorageRecord* record : records) restore(*record);
}

void Residency::restore_all() {
  std::vector<StorageRecord*> away;
  book_.for_each([&](StorageRecord& record) {
    if (record.evicted) away.push_back(&record);
  });
  restore_each(away);
}

void Residency::restore_dependents(StorageRecord& record) { restore_each(dependents_of(record.current)); }

void Residency::before_write(StorageRecord& record, bool as_planned) {
  const Ref<Value> content = record.current;
  const std::vector<StorageRecord*> dependents =
      content->anchors > 0 ? dependents_of(content) : std::vector<StorageRecord*>();
  const auto bring_back = [&] {
    content->frozen = true;
    restore_each(dependents);
  };
  // A copy is made, and made values are read, in the order of one stream.
  const bool may_keep = std::all_of(dependents.begin(), dependents.end(),
                                    [&](const StorageRecord* one) { return one->stream == record.stream; });
  if (dependents.empty() || !may_keep) return bring_back();
  if (!short_ && (as_planned || !is_cheaper_kept(record, dependents))) {
    try {
      const Deeper may_fail(this_thread().may_fail);
      return bring_back();
    } catch (const c10::OutOfMemoryError&) {
      short_ = true;  // nor will the rest fit
    }
    return keep_content(record);
  }
  try {
    const Deeper may_fail(this_thread().may_fail);
    keep_content(record);
  } catch (const c10::OutOfMemoryError&) {
    bring_back();
  }
}

void Residency::bury_dead(std::size_t count) {
  book_.bury_dead(count, [this](const StorageRecord& record) { note_death(record); });
  if (!spares_.empty() && !any_away()) drop_unwanted_spares();
}

void Residency::bury_all_dead() {
  book_.bury_all_dead([this](const StorageRecord& record) { note_death(record); });
  if (!spares_.empty() && !any_away()) drop_unwanted_spares();
}

void Residency::note_death(const StorageRecord& record) {
  if (!record.evicted) return;
  count_away(record.bytes, false);
  if (watch_ != nullptr) watch_->forget(record);
}

void Residency::count_away(std::uint64_t bytes, bool away) {
  counts_.evicted_bytes += away ? bytes : -bytes;
  any_away_.store(counts_.evicted_bytes > 0, std::memory_order_relaxed);
}

}  // namespace stowage::recompute
