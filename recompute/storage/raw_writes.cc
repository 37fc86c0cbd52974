#include "recompute/storage/raw_writes.h"

#include <bit>
#include <cstring>

#include "core/support/check.h"
#include "core/support/mix.h"

namespace stowage::recompute {

// In four lanes.
std::uint64_t digest_of(const void* data, std::uint64_t bytes) {
  constexpr std::uint64_t kLanes = 4;
  constexpr std::uint64_t kStep = kLanes * sizeof(std::uint64_t);
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
  const char* at = static_cast<const char*>(data);
  for (; bytes >= kStep; bytes -= kStep, at += kStep) {
    std::uint64_t words[kLanes];
    std::memcpy(words, at, kStep);
    for (std::uint64_t i = 0; i < kLanes; ++i) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kGoldenGamma, 29);
  }
  std::uint64_t tail[kLanes] = {};
  std::memcpy(tail, at, bytes);
  std::uint64_t digest = bytes;
  for (std::uint64_t i = 0; i < kLanes; ++i) digest = mix(digest ^ mix(lanes[i]) ^ (tail[i] * kGoldenGamma));
  return digest;
}

namespace {

std::uint64_t present_digest(const StorageRecord& record) {
  return digest_of(record.address->data(), record.address->nbytes());
}

bool has_note(const StorageRecord& record) {
  return record.watch && record.watch->value == record.current.get() && record.alive() && !record.evicted;
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
