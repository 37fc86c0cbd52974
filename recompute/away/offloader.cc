#include "recompute/away/offloader.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <utility>

#include "core/support/clock.h"
#include "recompute/away/guard_range.h"
#include "recompute/away/moved_bytes.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/record_lock.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
bool Offloader::is_offloadable(const StorageRecord& record) const {
  return may_lie_elsewhere(record) && guard_covers(record.bytes) && store_of(record) != nullptr;
}

bool Offloader::may_offload(const StorageRecord& record) const {
  return !record.away() && record.locks == 0 && is_offloadable(record);
}

// Null: it failed.
std::unique_ptr<StoredCopy> Offloader::put(Store& store, const void* from, std::uint64_t bytes) {
  const Aside aside(aside_);
  const std::uint64_t begin = now_ns();
  Result<std::unique_ptr<StoredCopy>> copy = store.put(from, bytes);
  if (!copy && drop_spare_copies()) copy = store.put(from, bytes);
  if (!copy) {
    stores_.trouble = copy.error().message;
    return nullptr;
  }
  stores_.trouble.clear();
  counter_.copied_away(bytes, now_ns() - begin, store.copy_ns(bytes));
  return std::move(*copy);
}

// True if there were any.
bool Offloader::drop_spare_copies() {
  bool any = false;
  book_.for_each([&](StorageRecord& record) {
    if (record.offloaded || record.stored == nullptr || record.being_stored) return;
    record.stored.reset();
    any = true;
  });
  return any;
}

// Sees to it that there is a copy of its content.
bool Offloader::store(StorageRecord& record) {
  settle(record);
  if (record.stored != nullptr && record.stored->matches(record.data)) return true;
  record.stored = put(*store_of(record), record.data, record.bytes);
  return record.stored != nullptr;
}

bool Offloader::offload(StorageRecord& record) {
  if (unseen_op_runs() || !may_offload(record)) return false;
  const c10::Storage held(record.impl.lock());
  if (!held) return false;
  const OnOwnStream own(record);
  if (!store(record)) return false;
  if (watch_ != nullptr) watch_->before_eviction(record);
  record.offloaded = true;
  counter_.offloaded(record.bytes);
  rescue_.before_leaving(record);
  take_bytes_out(record, poison_);
  return true;
}

// Throws what the allocation throws, and c10::Error if the store fails.
c10::Storage Offloader::read_again(StoredCopy& copy, c10::DeviceType type, std::uint64_t bytes) {
  const Deeper replaying(this_thread().replaying);
  c10::Storage made(c10::Storage::use_byte_size_t(), bytes, c10::GetAllocator(type), /*resizable=*/true);
  const Aside aside(aside_);
  const std::uint64_t begin = now_ns();
  const Status read = copy.read(made.mutable_data());
  TORCH_CHECK(read.ok(), "stowage: an offloaded tensor of ", bytes,
              " bytes cannot be brought back: ", read.error().message);
  counter_.copied_back(now_ns() - begin, stores_.of(static_cast<int>(type))->copy_ns(bytes));
  return made;
}

void Offloader::fetch(StorageRecord& record) {
  const RecordLock lock(&record);
  const c10::Storage held(record.impl.lock());
  if (!held) return;
  const OnOwnStream own(record);
  const RescueWatch::Return returning(rescue_, record);
  c10::Storage made = arrived(record);
  if (!made) made = read_again(*record.stored, record.address->device_type(), record.bytes);
  record.offloaded = false;
  put_bytes_back(record, made);
  rescue_.after_return(record);
  counter_.fetched(record.bytes);
  if (watch_ != nullptr) watch_->after_restore(record);
}

bool Offloader::may_offload_kept(const Value& leaf) const {
  if (!leaf.kept || !leaf.anchor || leaf.anchor.use_count() > 1) return false;
  return stores_.of(static_cast<int>(leaf.anchor.device_type())) != nullptr;
}

bool Offloader::offload_kept(Value& leaf, const StorageRecord& dependent) {
  if (!may_offload_kept(leaf)) return false;
  const OnOwnStream own(dependent);
  Store& to = *stores_.of(static_cast<int>(leaf.anchor.device_type()));
  leaf.stored = put(to, leaf.anchor.data(), leaf.anchor.nbytes());
  if (leaf.stored == nullptr) return false;
  counter_.note_offload(leaf.anchor.nbytes());
  leaf.stored_bytes = leaf.anchor.nbytes();
  const Deeper quiet(this_thread().quiet);
  leaf.anchor = c10::Storage();
  return true;
}

bool Offloader::store_content(StorageRecord& record) {
  if (store_of(record) == nullptr || !store(record)) return false;
  Value& content = *record.current;
  content.stored = std::move(record.stored);
  content.stored_bytes = record.bytes;
  content.kept = true;
  content.anchor = c10::Storage();
  counter_.note_offload(record.bytes);
  return true;
}

c10::Storage Offloader::kept_bytes(Value& leaf, c10::DeviceType type) {
  if (leaf.stored != nullptr) {
    leaf.anchor = read_again(*leaf.stored, type, leaf.stored_bytes);
    leaf.stored.reset();
  }
  return leaf.anchor;
}

std::uint64_t Offloader::cost_ns(const StorageRecord& record) const {
  const std::uint64_t one = store_of(record)->copy_ns(record.bytes);
  return record.stored != nullptr ? one : 2 * one;
}

std::uint64_t Offloader::copy_ns(const StorageRecord& record) const {
  const Store* const store = store_of(record);
  return store != nullptr ? store->copy_ns(record.bytes) : 0;
}

std::uint64_t Offloader::cost_ns(const Value& kept) const {
  return 2 * stores_.of(static_cast<int>(kept.anchor.device_type()))->copy_ns(kept.anchor.nbytes());
}

}  // namespace stowage::recompute
