// What unseen code does to tensors, as the guards tell it: Runtime's functions for that.
#include <ATen/core/Tensor.h>

#include "recompute/machine/machine.h"
#include "recompute/recompute.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/raw_writes.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// Runs `work` on the record of a storage, which is brought back first.
template <class Work>
void with_resident(c10::StorageImpl* storage, Work work) {
  Machine& all = machine();
  if (!all.on.load() || storage == nullptr) return;
  const Lock lock(all.mutex);
  const c10::Storage held(c10::intrusive_ptr<c10::StorageImpl>::unsafe_reclaim_from_nonowning(storage));
  StorageRecord& record = all.book.record_of(held);
  all.residency.restore(record);
  work(all, record);
}

// Runs `work` on the record of a storage, if there is one: the runtime may have been taken out meanwhile.
template <class Work>
void with_known(c10::StorageImpl* storage, Work work) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  if (StorageRecord* const record = all.book.find(storage)) work(all, *record);
}

// Nothing that is evicted may start from the content any more, as it is about to change unseen. No schedule
// knows of that.
void end_content(Machine& all, StorageRecord& record) {
  all.residency.before_write(record, /*as_planned=*/false);
  all.book.overwrite(record, Ref<Value>(new Value));
}

}  // namespace

void Runtime::expose(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine& all, StorageRecord& record) {
    if (record.exposed) return;
    record.exposed = true;
    if (record.loans == 0) end_content(all, record);
  });
}

void Runtime::know(c10::StorageImpl* storage, bool on_this_stream) {
  with_resident(storage, [&](Machine&, StorageRecord& record) {
    if (on_this_stream) note_stream(record);
  });
}

void Runtime::pin(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine&, StorageRecord& record) { record.pinned = true; });
}

void Runtime::lend(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine& all, StorageRecord& record) {
    if (record.loans++ == 0 && !record.exposed) end_content(all, record);
  });
}

void Runtime::take_back(c10::StorageImpl* storage) {
  with_known(storage, [](Machine&, StorageRecord& record) {
    if (record.loans > 0) --record.loans;
  });
}

void Runtime::hold(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine&, StorageRecord& record) { ++record.holds; });
}

void Runtime::let_go(c10::StorageImpl* storage) {
  with_known(storage, [](Machine&, StorageRecord& record) {
    if (record.holds > 0) --record.holds;
  });
}

void Runtime::tell_address(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine& all, StorageRecord& record) {
    record.pinned = true;
    if (record.may_change()) return;
    if (record.address->device_type() != c10::kCPU) record.exposed = true;  // nobody compares its bytes
    end_content(all, record);
    if (!record.exposed) watch_for_raw_writes(record);
  });
}

void Runtime::begin_write(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine& all, StorageRecord& record) {
    ++record.holds;
    if (!record.may_change()) end_content(all, record);
    advance(record.current->write, WriteState::kFrozen);
  });
}

void Runtime::end_write(c10::StorageImpl* storage) {
  with_known(storage, [](Machine& all, StorageRecord& record) {
    if (record.holds > 0) --record.holds;
    if (record.alive()) all.book.overwrite(record, Ref<Value>(new Value));
  });
}

}  // namespace stowage::recompute
