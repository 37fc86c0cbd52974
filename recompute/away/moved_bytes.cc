#include "recompute/away/moved_bytes.h"

#include <cstring>
#include <utility>

#include "recompute/away/guard_range.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

void take_bytes_out(StorageRecord& record, bool poison) {
  c10::StorageImpl& impl = *record.address;
  const c10::Device device = impl.device();
  if (poison && device.is_cpu()) std::memset(impl.mutable_data(), 0xFF, record.bytes);
  const Deeper quiet(this_thread().quiet);
  impl.set_data_ptr_noswap(c10::DataPtr(guard_address(), device));  // frees what it held
}

void put_bytes_back(StorageRecord& record, c10::Storage& made) {
  c10::StorageImpl& source = *made.unsafeGetStorageImpl();
  record.address->set_data_ptr_noswap(std::move(source._mutable_data_ptr_no_checks()));
  source.set_nbytes(0);
  record.data = record.address->data();
}

}  // namespace stowage::recompute
