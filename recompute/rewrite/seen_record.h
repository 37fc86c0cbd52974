// The record of a tensor's storage, where the runtime knows it, and all that happens to its bytes.
//
// Thread safety: the caller holds the runtime's lock.
#pragma once

#include <ATen/core/Tensor.h>

#include "recompute/machine/machine.h"
#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {

/// Null: the tensor shows a part of its storage, or that is not known.
inline StorageRecord* record_of_all(const at::Tensor& tensor) {
  if (!shows_plain_memory(tensor) || !shows_all(tensor)) return nullptr;
  return machine().book.find(tensor.storage().unsafeGetStorageImpl());
}

/// Null also where code that is not seen may reach it.
inline StorageRecord* seen_record_of(const at::Tensor& tensor) {
  StorageRecord* const record = record_of_all(tensor);
  return record == nullptr || record->is_reached() ? nullptr : record;
}

}  // namespace stowage::recompute
