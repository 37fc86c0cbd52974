#include "recompute/away/moved_bytes.h"

#include <cstring>
#include <utility>

#include "recompute/away/guard_range.h"
#include "recompute/recipe/replay.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/record_lock.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

void take_bytes_out(StorageRecord& record, bool poison) {
  c10::StorageImpl& impl = *record.address;
  const c10::Device device = impl.device();
  if (poison && device.is_cpu()) std::memset(impl.mutable_data(), 0xFF, record.bytes);
  const Deeper quiet(this_thread().quiet);
  impl.set_data_ptr_noswap(c10::DataPtr(guard_address(), device));  // frees what it held
}

c10::Storage unreadable_storage(c10::Device device, std::uint64_t bytes) {
  return {c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(guard_address(), device), nullptr, false};
}

void put_bytes_back(StorageRecord& record, c10::Storage& made) {
  c10::StorageImpl& source = *made.unsafeGetStorageImpl();
  record.address->set_data_ptr_noswap(std::move(source._mutable_data_ptr_no_checks()));
  source.set_nbytes(0);
  record.data = record.address->data();
}

bool may_lie_elsewhere(const StorageRecord& record) {
  if (record.is_reached() || record.bytes == 0 || !record.alive()) return false;
  if (!record.address->device().is_cpu() && record.stream < 0)
    return false;  // nobody knows what it has to wait for
  return record.away() || has_own_bytes(record);
}

bool may_move(const StorageRecord& record) {
  return !record.away() && record.locks == 0 && may_lie_elsewhere(record);
}

void move_bytes(StorageRecord& record) {
  const c10::Storage held(record.impl.lock());
  if (!held) return;
  const Deeper replaying(this_thread().replaying);
  const Deeper quiet(this_thread().quiet);
  const RecordLock lock(&record);
  const OnOwnStream own(record);
  c10::Storage copy = copy_storage(held);
  put_bytes_back(record, copy);
}

}  // namespace stowage::recompute
