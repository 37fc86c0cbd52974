#include "recompute/verify/forced_evictions.h"

#include <string>
#include <utility>
#include <vector>

#include "core/support/mix.h"
#include "recompute/verify/call_text.h"

namespace stowage::recompute {

void ForcedEvictions::begin(const Forced& wanted) {
  wanted_ = wanted;
  ops_ = choices_ = 0;
  serials_before_ = book_.last_serial();
}

void ForcedEvictions::choose() {
  std::vector<std::pair<StorageRecord*, std::uint64_t>> chosen;
  book_.for_each([&](StorageRecord& record) {
    if (record.bytes < wanted_.smallest.value() || !record.alive()) return;
    if ((mix(wanted_.seed + mix(ops_ * kGoldenGamma + record.serial - serials_before_)) & 1) == 0) return;
    ++choices_;
    if (choices_ >= wanted_.first && choices_ <= wanted_.last) chosen.emplace_back(&record, choices_);
  });
  for (const auto& [record, choice] : chosen) {
    if (wanted_.offloads && moves(*record, mix(wanted_.seed ^ choice) % 4)) continue;
    if (residency_.evict(*record) && wanted_.tells) tell(*record, choice);
  }
}

// Half of them are offloaded; of others a copy is begun, there or back. False: it is evicted instead.
bool ForcedEvictions::moves(StorageRecord& record, std::uint64_t lot) {
  Offloader& offloader = residency_.offloader();
  if (lot < 2) return offloader.offload(record);
  if (lot == 3) return false;
  if (!record.offloaded) return offloader.begin_store(record);
  offloader.prefetch(record);
  return true;
}

void ForcedEvictions::tell(const StorageRecord& record, std::uint64_t choice) {
  const Recipe& recipe = *record.current->recipe;
  findings_.add({"eviction " + std::to_string(choice) + ", before op " + std::to_string(ops_) +
                     " of the job: a tensor of " + std::to_string(record.bytes) + " bytes, made by\n" +
                     text_of(recipe),
                 recipe.source ? *recipe.source : SourceLine(), /*wrong=*/false});
}

}  // namespace stowage::recompute
