#include "recompute/residency/residency.h"

#include <algorithm>

#include "core/support/check.h"
#include "recompute/away/guard_range.h"
#include "recompute/away/moved_bytes.h"
#include "recompute/recipe/replay.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/raw_writes.h"
#include "recompute/storage/record_lock.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

constexpr std::size_t kFarthest = 50000;  // values on the way to the leaves; beyond, a value stays

}  // namespace

bool Residency::may_evict(const StorageRecord& record) {
  if (record.away() || record.pinned || record.parameter) return false;
  if (record.locks > 0 || record.bytes == 0) return false;
  if (record.may_change() || record.holds > 0) return false;
  if (!record.current->recipe || !record.alive() || !guard_covers(record.bytes)) return false;
  return has_own_bytes(record);
}

bool Residency::evict(StorageRecord& record) {
  if (unseen_op_runs() || !may_evict(record)) return false;
  const c10::Storage held(record.impl.lock());
  if (!held) return false;
  std::vector<Ref<Value>> leaves;
  if (!book_.collect_leaves(record.current, kFarthest, leaves)) return false;
  if (!anchor_leaves(leaves)) return false;
  offloader_.settle(record);
  if (watch_ != nullptr) watch_->before_eviction(record);
  record.leaves = std::move(leaves);
  neighbours_.join(*record.current);
  record.evicted = true;
  counter_.left(record.bytes);
  rescue_.before_leaving(record);
  take_bytes_out(record, poison_);
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
    if (leaf->write != WriteState::kOpen) return false;
    held.emplace_back(leaf->home->impl.lock());
    if (!held.back()) return false;
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i]->anchors++ == 0) leaves[i]->anchor = std::move(held[i]);
  }
  return true;
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
    counter_.died(dependent->bytes);
    rescue_.forget(*dependent);
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
      if (other->stamp == stamp || other->home == nullptr) continue;
      if (!other->home->pinned && !other->home->parameter) continue;
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
  c10::Storage copy;
  try {
    copy = copy_storage(held);
  } catch (const c10::OutOfMemoryError&) {
    if (content->anchors > 0 && !offloader_.store_content(record)) throw;
  }
  if (content->anchors == 0) {  // while room was made for the copy, whoever needed it came back
    advance(content->write, WriteState::kFrozen);
    return;
  }
  if (copy) {
    content->kept = true;
    content->anchor = std::move(copy);
  }
  book_.overwrite(record, Ref<Value>(new Value));
}

void Residency::restore_each(std::span<StorageRecord* const> records) {
  std::vector<RecordLock> locks;  // or a small budget evicts one for the other for ever
  locks.reserve(records.size());
  for (StorageRecord* record : records) locks.emplace_back(record);
  for (StorageRecord* record : records) restore(*record);
}

template <class Chosen>
void Residency::restore_where(Chosen chosen) {
  std::vector<StorageRecord*> records;
  book_.for_each([&](StorageRecord& record) {
    if (chosen(record)) records.push_back(&record);
  });
  restore_each(records);
}

void Residency::restore_all() {
  restore_where([](const StorageRecord& record) { return record.away(); });
  offloader_.finish_all();
}

void Residency::restore_evicted() {
  restore_where([](const StorageRecord& record) { return record.evicted; });
}

void Residency::restore_dependents(StorageRecord& record) { restore_each(dependents_of(record.current)); }

void Residency::before_write(StorageRecord& record, bool as_planned) {
  offloader_.settle(record);
  const Ref<Value> content = record.current;
  const std::vector<StorageRecord*> dependents =
      content->anchors > 0 ? dependents_of(content) : std::vector<StorageRecord*>();
  const auto bring_back = [&] {
    advance(content->write, WriteState::kFrozen);
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
  book_.bury_dead(count, [this](StorageRecord& record) { note_death(record); });
  drop_unwanted_spares();
}

void Residency::bury_all_dead() {
  book_.bury_all_dead([this](StorageRecord& record) { note_death(record); });
  drop_unwanted_spares();
}

void Residency::note_death(StorageRecord& record) {
  offloader_.settle(record);
  if (!record.away()) return;
  offloader_.drop_arriving(record);
  record.evicted ? counter_.died(record.bytes) : counter_.died_offloaded(record.bytes);
  rescue_.forget(record);
  if (watch_ != nullptr) watch_->forget(record);
}

// The last of them, where nothing starts from them any more.
void Residency::drop_unwanted_spares() {
  if (!spares_.empty() && !any_away()) spares_.drop_unwanted();
}

}  // namespace stowage::recompute
