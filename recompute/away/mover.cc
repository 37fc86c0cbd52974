#include "recompute/away/mover.h"

#include "recompute/away/moved_bytes.h"
#include "recompute/recipe/replay.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/record_lock.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

bool Mover::may_move(const StorageRecord& record) {
  if (record.away() || record.locks > 0 || record.is_reached() || record.bytes == 0 || !record.alive())
    return false;
  const c10::StorageImpl& impl = *record.address;
  if (!impl.device().is_cpu() && record.stream < 0) return false;  // nobody knows what it has to wait for
  return impl.data() == record.data && impl.nbytes() == record.bytes && owned_by_allocator(impl);
}

void Mover::move(StorageRecord& record) {
  const c10::Storage held(record.impl.lock());
  if (!held) return;
  offloader_.settle(record);
  const Deeper replaying(this_thread().replaying);
  const Deeper quiet(this_thread().quiet);
  const RecordLock lock(&record);
  const OnOwnStream own(record);
  c10::Storage copy = copy_storage(held);
  put_bytes_back(record, copy);
}

}  // namespace stowage::recompute
