#include "recompute/storage/raw_writes.h"

#include "core/support/check.h"
#include "recompute/stores/digest.h"

namespace stowage::recompute {
namespace {

std::uint64_t present_digest(const StorageRecord& record) {
  return digest_of(record.address->data(), record.address->nbytes());
}

bool has_note(const StorageRecord& record) {
  return record.watch && record.watch->value == record.current.get() && record.alive() && !record.away();
}

}  // namespace

void watch_for_raw_writes(StorageRecord& record) {
  STOWAGE_DCHECK(record.address->device_type() == c10::kCPU, "only what the host can read is watched");
  if (!record.watch) record.watch = std::make_unique<StorageRecord::Watch>();
  record.watch->value = nullptr;
}

void note_content(StorageRecord& record) {
  if (!record.watch || record.exposed) return;
  if (has_note(record)) {
    check_raw_writes(record);
    return;
  }
  record.watch->value = record.current.get();
  record.watch->digest = present_digest(record);
}

bool check_raw_writes(StorageRecord& record) {
  if (!has_note(record) || present_digest(record) == record.watch->digest) return true;
  record.exposed = true;
  advance(record.current->write, WriteState::kFrozen);  // nothing further may count on it
  return false;
}

void require_no_raw_writes(StorageRecord& record) {
  TORCH_CHECK(
      check_raw_writes(record),
      "stowage: a tensor was written through its address (data_ptr()), by no op, after an op had read "
      "it; what was computed from it and evicted since cannot be made again. Call data_ptr() right "
      "before each such write, or run the job without a budget");
}

}  // namespace stowage::recompute
