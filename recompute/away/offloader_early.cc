// The part of Offloader that begins copies ahead of time.
#include <c10/core/Allocator.h>

#include <algorithm>
#include <utility>

#include "core/support/clock.h"
#include "recompute/away/offloader.h"
#include "recompute/storage/own_stream.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

bool Offloader::begin_store(StorageRecord& record) {
  if (unseen_op_runs() || !may_offload(record)) return false;
  if (record.being_stored) return true;
  const c10::Storage held(record.impl.lock());
  if (!held) return false;
  if (record.stored != nullptr) return true;
  const OnOwnStream own(record);
  Store& to = *store_of(record);
  const Aside aside(aside_);
  const std::uint64_t begin = now_ns();
  Result<std::unique_ptr<StoredCopy>> copy = to.begin_put(record.data, record.bytes);
  if (!copy) {
    stores_.trouble = copy.error().message;
    return false;
  }
  counter_.copied_away(record.bytes, now_ns() - begin, to.copy_ns(record.bytes));
  record.stored = std::move(*copy);
  if (run_beside_ops(to.lanes())) record.lent = lend_memory(*record.address);
  record.being_stored = true;
  being_stored_.push_back(&record);
  return true;
}

Status Offloader::finish(StoredCopy& copy) {
  const Aside aside(aside_);
  const std::uint64_t begin = now_ns();
  Status whole = copy.finish();
  counter_.waited_for_copy(now_ns() - begin);
  if (!whole) stores_.trouble = whole.error().message;
  return whole;
}

// What failed is no copy; the bytes are where they were.
void Offloader::settle(StorageRecord& record) {
  if (!record.being_stored) return;
  std::erase(being_stored_, &record);
  record.being_stored = false;
  if (record.stored != nullptr && record.lent) {
    const OnOwnStream own(record.lent->device(), record.stream);
    if (!finish(*record.stored)) record.stored.reset();
  }
  const c10::Storage held(record.impl.lock());
  if (held && record.lent) end_loan(*record.address, record.lent);
  record.lent.reset();
}

void Offloader::prefetch(StorageRecord& record) {
  if (!record.offloaded || record.arriving || !record.alive()) return;
  const c10::Storage held(record.impl.lock());
  if (!held) return;
  const OnOwnStream own(record);
  const Deeper replaying(this_thread().replaying);
  const c10::DeviceType type = record.address->device_type();
  c10::Storage made(c10::Storage::use_byte_size_t(), record.bytes, c10::GetAllocator(type),
                    /*resizable=*/true);
  const Aside aside(aside_);
  const std::uint64_t begin = now_ns();
  if (const Status begun = record.stored->begin_read(made.mutable_data()); !begun)
    return void(stores_.trouble = begun.error().message);
  counter_.copied_back(now_ns() - begin, stores_.of(static_cast<int>(type))->copy_ns(record.bytes));
  record.arriving = std::move(made);
}

// Empty if nothing was begun, or if it failed: the copy is still there to be read.
c10::Storage Offloader::arrived(StorageRecord& record) {
  if (!record.arriving) return {};
  const Status whole = finish(*record.stored);
  if (!whole) drop_arriving(record);
  return std::exchange(record.arriving, c10::Storage());
}

void Offloader::drop_arriving(StorageRecord& record) {
  if (!record.arriving) return;
  const OnOwnStream own(record.arriving.device(), record.stream);
  static_cast<void>(finish(*record.stored));
  const Deeper quiet(this_thread().quiet);
  record.arriving = c10::Storage();
}

std::uint64_t Offloader::drop_arriving(std::uint64_t bytes, Place place) {
  std::uint64_t freed = 0;
  book_.for_each([&](StorageRecord& record) {
    if (freed >= bytes || !record.arriving || record.locks > 0) return;
    if (!place.covers(record.arriving.device())) return;
    freed += record.bytes;
    rescue_.before_dropping(record, record.arriving.data());
    drop_arriving(record);
  });
  return freed;
}

void Offloader::finish_all() {
  while (!being_stored_.empty()) settle(*being_stored_.back());
  if (counter_.counts().offloaded_bytes == 0) return;
  book_.for_each([this](StorageRecord& record) { drop_arriving(record); });
}

}  // namespace stowage::recompute
