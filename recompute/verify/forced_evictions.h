// STOWAGE_EVICT=forced:SEED[:FIRST-LAST]: evicts at random, so that a wrong recipe does harm soon, and the
// same each time, so that the harm can be bisected to one eviction.
//
// Every so many ops each storage is chosen with probability 1/2, by seed, op and storage. Choices are
// numbered from 1 through the whole job, whether or not the storage can be evicted at that time: so a choice
// has the same number for any evictions before it, as long as the job's ops are the same. Only those from
// FIRST to LAST are carried out.
//
// Thread safety: the runtime's lock guards it.
#pragma once

#include <cstdint>

#include "recompute/residency/residency.h"
#include "recompute/verify/findings.h"
#include "recompute/verify/forced.h"

namespace stowage::recompute {

class ForcedEvictions {
 public:
  ForcedEvictions(StorageBook& book, Residency& residency, Findings& findings)
      : book_(book), residency_(residency), findings_(findings) {}

  /// Ops and choices are counted from 1 again.
  void begin(const Forced& wanted);
  /// An op of the job is about to run.
  void before_op() {
    if (wanted_.every != 0 && ++ops_ % wanted_.every == 0) choose();
  }
  /// How many choices there were so far.
  [[nodiscard]] std::uint64_t choices() const { return choices_; }

 private:
  void choose();
  bool moves(StorageRecord& record, std::uint64_t lot);
  void tell(const StorageRecord& record, std::uint64_t choice);

  StorageBook& book_;
  Residency& residency_;
  Findings& findings_;
  Forced wanted_;
  std::uint64_t ops_ = 0;
  std::uint64_t choices_ = 0;
  std::uint64_t serials_before_ = 0;  ///< of storages that were known when it began
};

}  // namespace stowage::recompute
