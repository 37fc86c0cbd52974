// Chooses what to evict, by scores.
//
// The score is cost / (bytes * idle), over all storages that may be evicted: no sampling, so that a limit is
// hard. The storage with the least score is evicted first. The cost is that of every op that would have to
// run, those of dead values on the way included, and of the evicted values that start from it
// (NeighbourSets). A gradient thus costs what the pass behind it costs. Where there is a store, a storage may
// be offloaded instead, if the copies cost less, or if it is large: to make that again may take several times
// its bytes at once, where an op needs most of the limit. Idle is how much room is needed until the next use,
// by the iteration before (use_history.h); where that does not know it, the ops since the last use, as in
// DTR.
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
#include "recompute/storage/use_history.h"

namespace stowage::recompute {

class Evictor {
 public:
  Evictor(StorageBook& book, Residency& residency, ForeignBuffers& foreign, const UseHistory& uses)
      : book_(book), residency_(residency), foreign_(foreign), uses_(uses) {}

  /// What may be evicted or offloaded.
  struct Bounds {
    std::uint64_t smallest = 0;  ///< storages below this are not
    Place place;
    std::uint64_t now = 0;      ///< the number of the present op
    bool only_offload = false;  ///< no recomputation is to be added
    std::uint64_t large = 0;    ///< bytes; what takes more is offloaded if it can be. 0: nothing is large
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
    double score;   ///< of a buffer of other code
    double weight;  ///< bytes by staleness
    std::uint64_t bytes;
    std::uint64_t serial;
    double copy_score = kNever;  ///< that of offloading and bringing back
    bool made_again = true;      ///< it may be evicted
    bool goes_as_copy = false;   ///< so only if it cannot be offloaded, as it is large
    std::uint64_t until = 0;     ///< number of the op that uses it next; 0: nothing is known
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
  static double least_score(const Candidate& candidate);
  double score(Candidate& candidate, double enough);
  void note_consumers();
  void note_consumer(Value& evicted, std::uint64_t stamp);
  double cost_ns(Value& value, std::uint64_t until, double enough);
  [[nodiscard]] bool will_be_there(const Value& value, std::uint64_t until) const;

  StorageBook& book_;
  Residency& residency_;
  ForeignBuffers& foreign_;
  const UseHistory& uses_;
  std::unordered_map<const Value*, std::vector<NeighbourSets::Id>>
      consumers_;  ///< by value that is there: the sets of evicted values whose replay starts from it; for
                   ///< one scan
  std::vector<Value*> waiting_;
  std::vector<NeighbourSets::Id> counted_;
};

}  // namespace stowage::recompute
