// STOWAGE_VERIFY: what is restored has the bytes that were evicted.
//
// A recipe that is right when it is replayed at once may still make other bits later: where unseen code wrote
// what it starts from, or where a version was mixed up. So a digest of each storage is kept while it is
// evicted.
//
// Thread safety: the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "recompute/away/content_watch.h"
#include "recompute/verify/findings.h"

namespace stowage::recompute {

class RestoreCheck final : public ContentWatch {
 public:
  explicit RestoreCheck(Findings& findings) : findings_(findings) {}

  void before_eviction(const StorageRecord& record) override;
  void after_restore(const StorageRecord& record) override;
  void forget(const StorageRecord& record) override { digests_.erase(record.serial); }
  /// Requires: nothing is evicted.
  void reset() {
    digests_.clear();
    checked_ = 0;
  }
  /// Restored storages that were compared.
  [[nodiscard]] std::uint64_t checked() const { return checked_; }

 private:
  Findings& findings_;
  std::unordered_map<std::uint64_t, std::uint64_t> digests_;  ///< of what is evicted, by serial number
  std::uint64_t checked_ = 0;
};

}  // namespace stowage::recompute
