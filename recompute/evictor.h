// Chooses what to evict: the rescue driver's scores, and the forced evictions of tests.
//
// The score is DTR's h = cost / (bytes * staleness), with the cost of absent neighbours (NeighbourSets), over
// all storages that may be evicted: no sampling, so that a limit is hard. Least is evicted first.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "recompute/foreign_buffers.h"
#include "recompute/recompute.h"
#include "recompute/residency.h"

namespace stowage::recompute {

class Evictor {
 public:
  Evictor(StorageBook& book, Residency& residency, ForeignBuffers& foreign)
      : book_(book), residency_(residency), foreign_(foreign) {}

  /// Evicts until `bytes` were freed or nothing is left; returns what was freed. `now`: the number of the
  /// present op.
  std::uint64_t make_room(std::uint64_t bytes, std::uint64_t smallest, int device_type, std::uint64_t now);
  /// Evicts one contiguous window; see Runtime::make_contiguous_room.
  bool make_window(std::uint64_t bytes, std::uint64_t smallest, int device_type, std::uint64_t now,
                   std::span<const FreeRange> free);
  /// Evicts about half of what may be evicted, chosen by seed, op and storage.
  void evict_some(std::uint64_t seed, std::uint64_t smallest, std::uint64_t now);

 private:
  /// Either a storage or a buffer of other code.
  struct Candidate {
    StorageRecord* record;
    ForeignBuffer* foreign;
    double score;
    std::uint64_t bytes;
  };
  bool evict(const Candidate& candidate);
  std::vector<Candidate> candidates(std::uint64_t smallest, int device_type, std::uint64_t now);
  void note_consumers();
  double neighbourhood_ns(Value& value);

  StorageBook& book_;
  Residency& residency_;
  ForeignBuffers& foreign_;
  std::unordered_map<const Value*, std::vector<NeighbourSets::Id>>
      consumers_;  ///< of evicted values; for one scan
};

}  // namespace stowage::recompute
