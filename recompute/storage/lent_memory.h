// Memory of a storage that something else reads meanwhile: it is freed only when both are done with it.
//
// The job may free, resize or replace a storage's memory without an op. While it is lent, the storage has a
// pointer that only counts; PyTorch sees the same address and device. Who knows an allocator's memory by its
// deleter asks for own_pointer().
//
// Thread safety: none; the runtime's lock guards lending and ending. Memory is freed by the thread that lets
// go last.
#pragma once

#include <c10/core/StorageImpl.h>

#include <memory>
#include <utility>

namespace stowage::recompute {

using LentMemory = std::shared_ptr<c10::DataPtr>;

namespace internal {

inline void give_up_loan(void* loan) { delete static_cast<LentMemory*>(loan); }

}  // namespace internal

[[nodiscard]] inline bool is_lent(const c10::StorageImpl& storage) {
  return storage.data_ptr().get_deleter() == &internal::give_up_loan;
}

/// What the allocator gave. It lives as long as `pointer`.
[[nodiscard]] inline const c10::DataPtr& own_pointer(const c10::DataPtr& pointer) {
  const bool lent = pointer.get_deleter() == &internal::give_up_loan;
  return lent ? **static_cast<const LentMemory*>(pointer.get_context()) : pointer;
}

/// Requires: it is not lent.
[[nodiscard]] inline LentMemory lend_memory(c10::StorageImpl& storage) {
  const c10::Device device = storage.device();
  auto memory = std::make_shared<c10::DataPtr>(storage.set_data_ptr(c10::DataPtr()));
  storage.set_data_ptr_noswap(
      c10::DataPtr(memory->get(), new LentMemory(memory), &internal::give_up_loan, device));
  return memory;
}

/// The storage has its own pointer again, unless it has got other memory since.
inline void end_loan(c10::StorageImpl& storage, const LentMemory& memory) {
  if (!is_lent(storage)) return;
  if (static_cast<const LentMemory*>(storage.data_ptr().get_context())->get() != memory.get()) return;
  storage.set_data_ptr_noswap(std::move(*memory));
}

}  // namespace stowage::recompute
