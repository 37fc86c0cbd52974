#include "recompute/verify/restore_check.h"

#include <string>

#include "recompute/threads/thread_state.h"
#include "recompute/verify/call_text.h"
#include "recompute/verify/same_bytes.h"

namespace stowage::recompute {
namespace {

std::uint64_t digest_of_resident(const StorageRecord& record) {
  const Deeper replaying(this_thread().replaying);
  const c10::Storage held(record.impl.lock());
  return held ? digest_of_bytes(held) : 0;
}

}  // namespace

void RestoreCheck::before_eviction(const StorageRecord& record) {
  digests_[record.serial] = digest_of_resident(record);
}

void RestoreCheck::after_restore(const StorageRecord& record) {
  const auto before = digests_.find(record.serial);
  if (before == digests_.end()) return;
  const bool same = before->second == digest_of_resident(record);
  digests_.erase(before);
  ++checked_;
  if (same) return;
  if (!record.current->recipe) {
    findings_.add(
        {"a restored tensor of " + std::to_string(record.bytes) + " bytes is not what was offloaded",
         SourceLine()});
    return;
  }
  const Recipe& recipe = *record.current->recipe;
  findings_.add({"a restored tensor of " + std::to_string(record.bytes) +
                     " bytes is not what was evicted. It was made by\n" + text_of(recipe),
                 recipe.source ? *recipe.source : SourceLine()});
}

}  // namespace stowage::recompute
