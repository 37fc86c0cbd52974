// Chooses what to evict, by scores.
//
// The score is DTR's h = cost / (bytes * staleness), over all storages that may be evicted: no sampling, so
// that a limit is hard. The storage with the least score is evicted first. The cost is that of every op that
// would have to run, those of dead values on the way included, and of the evicted values that start from it
// (NeighbourSets). A gradient thus costs what the pass behind it costs.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/runtime/free_space.h"
#include "recompute/choice/foreign_buffers.h"
#include "recompute/residency/residency.h"
#include "recompute/storage/place.h"

namespace stowage::recompute {

class Evictor {
 public:
  Evictor(StorageBook& book, Residency& residency, ForeignBuffers& foreign)
      : book_(book), residency_(residency), foreign_(foreign) {}

  /// Evicts until `bytes` were freed or nothing is left; returns what was freed. `now`: the number of the
  /// present op.
  std::uint64_t make_room(std::uint64_t bytes, std::uint64_t smallest, Place place, std::uint64_t now);
  /// Evicts one contiguous room; see Runtime::make_contiguous_room.
  bool make_contiguous_room(std::uint64_t bytes, std::uint64_t smallest, Place place, std::uint64_t now,
                            const FreeSpace& space);

 private:
  /// A storage, a spare result or a buffer of other code.
  struct Candidate {
    StorageRecord* record;
    Value* spare;
    ForeignBuffer* foreign;
    double score;   ///< or less than it
    double weight;  ///< bytes by staleness
    std::uint64_t bytes;
    std::uint64_t serial;
  };
  bool evict(const Candidate& candidate);
  std::vector<Candidate> candidates(std::uint64_t smallest, Place place, std::uint64_t now);
  double score(const Candidate& candidate, double enough);
  void note_consumers();
  void note_consumer(Value& evicted, std::uint64_t stamp);
  double cost_ns(Value& value, double enough);

  StorageBook& book_;
  Residency& residency_;
  ForeignBuffers& foreign_;
  std::unordered_map<const Value*, std::vector<NeighbourSets::Id>>
      consumers_;  ///< by value that is there: the sets of evicted values whose replay starts from it; for
                   ///< one scan
  std::vector<Value*> waiting_;
  std::vector<NeighbourSets::Id> counted_;
};

}  // namespace stowage::recompute
