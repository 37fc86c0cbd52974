// Chooses what to evict, by scores.
//
// The score is DTR's h = cost / (bytes * staleness), over all storages that may be evicted: no sampling, so
// that a limit is hard. The storage with the least score is evicted first. The cost is that of every op that
// would have to run, those of dead values on the way included, and of the evicted values that start from it
// (NeighbourSets). A gradient thus costs what the pass behind it costs. Where there is a store, a storage may
// be offloaded instead, if that scores less: then the cost is that of the copies, and what counts in place of
// staleness is when a storage that outlives iterations is used next (use_times.h).
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
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

  /// What may be evicted or offloaded.
  struct Bounds {
    std::uint64_t smallest = 0;  ///< storages below this are not
    Place place;
    std::uint64_t now = 0;  ///< the number of the present op
    Moment moment;
    bool only_offload = false;  ///< no recomputation is to be added
  };
  /// Evicts or offloads until `bytes` were freed or nothing is left; returns what was freed.
  std::uint64_t make_room(std::uint64_t bytes, const Bounds& bounds);
  /// Frees one contiguous room; see Runtime::make_contiguous_room.
  bool make_contiguous_room(std::uint64_t bytes, const Bounds& bounds, const FreeSpace& space);

 private:
  /// A storage, a spare result, the copy of an overwritten leaf or a buffer of other code.
  struct Candidate {
    StorageRecord* record;  ///< of a copy: one that starts from it
    Value* value;           ///< a spare or a copy; null: `record` is meant
    ForeignBuffer* foreign;
    double score;   ///< or less than it
    double weight;  ///< bytes by staleness
    std::uint64_t bytes;
    std::uint64_t serial;
    double copy_score = kNever;  ///< that of offloading and bringing back
    bool made_again = true;      ///< it may be evicted
    bool offloaded = false;      ///< the score is that of offloading

    [[nodiscard]] bool is_spare() const { return value != nullptr && record == nullptr; }
    [[nodiscard]] bool is_copy() const { return value != nullptr && record != nullptr; }
    [[nodiscard]] bool is_storage() const { return value == nullptr && record != nullptr; }
  };
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  bool take(const Candidate& candidate);
  bool evict(StorageRecord& record);
  [[nodiscard]] std::optional<Candidate> candidate_of(StorageRecord& record, const Bounds& bounds) const;
  std::vector<Candidate> candidates(const Bounds& bounds);
  void add_copies(StorageRecord& evicted, const Bounds& bounds, std::uint64_t stamp,
                  std::vector<Candidate>& found);
  double score(Candidate& candidate, double enough);
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
