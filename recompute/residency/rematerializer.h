// Makes evicted values again: plans which recipes to run (those of dead and evicted values on the way down to
// what is in memory), runs them in order and moves the results' data into the storages that the job holds.
//
// All outputs of an op come back together (core/runtime/residency_contract.h has the rules). Results of dead
// values live while their plan needs them and, where other evicted values start from them too, as spares
// (spares.h). An op runs on the stream of the value that is brought back. Where memory is short while a plan
// runs, what it made for later steps goes first-made first and is made again when its step comes: a gradient
// that was evicted in the middle of a backward pass takes the forward pass again, and all of that at once may
// be more than the budget.
//
// Thread safety: none; the runtime's lock guards it. An allocation made here may call back into the eviction
// of other storages; never of those that are locked.
#pragma once

#include <c10/core/Storage.h>

#include <vector>

#include "recompute/away/content_watch.h"
#include "recompute/away/offloader.h"
#include "recompute/away/residency_counts.h"
#include "recompute/residency/neighbour_costs.h"
#include "recompute/residency/replay_plan.h"
#include "recompute/residency/spares.h"
#include "recompute/storage/record_lock.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class Rematerializer {
 public:
  Rematerializer(StorageBook& book, NeighbourCosts& neighbours, Spares& spares, Offloader& offloader,
                 ResidencyCounter& counter, RescueWatch& rescue)
      : book_(book),
        neighbours_(neighbours),
        spares_(spares),
        offloader_(offloader),
        counter_(counter),
        rescue_(rescue) {}

  /// Is told about each restore from now on. Null: no one is told.
  void set_watch(ContentWatch* watch) { watch_ = watch; }
  /// Is told about each run of ops from now on. Null: no one is told.
  void set_aside(AsideWatch* aside) { aside_ = aside; }
  /// Brings it back if it is evicted or offloaded, and alive. Throws what the ops and stores throw (out of
  /// memory, too); then each storage is away or resident as it was, or better.
  void restore(StorageRecord& record);
  /// Frees what plans under way made for later steps, until `bytes` are free. Returns how many it freed.
  std::uint64_t drop_made(std::uint64_t bytes, Place place);

 private:
  /// A plan under way, and those of its values that become spares when no step needs them any more.
  struct Run {
    ReplayPlan plan;
    Spares::Wanted wanted;
  };
  Run plan_for(const Value& target);
  c10::Storage make_again(Value& value);
  void run_all(Run& run);
  void run_step(Run& run, const Recipe& recipe);
  std::vector<c10::Storage> inputs_of(Run& run, const Recipe& recipe);
  void fetch_for_writing(Run& run, const Recipe& recipe, std::size_t at, std::vector<c10::Storage>& inputs);
  c10::Storage input_of(Run& run, const Input& input, const Geometry& geometry);
  void deliver(Run& run, const Recipe& recipe, std::vector<c10::Storage>& made);
  std::vector<RecordLock> bring_back_rescued(const StorageRecord& record, const Run& run);
  void refill(StorageRecord& record, c10::Storage& made);

  StorageBook& book_;
  NeighbourCosts& neighbours_;
  Spares& spares_;
  Offloader& offloader_;
  ResidencyCounter& counter_;
  RescueWatch& rescue_;
  ContentWatch* watch_ = nullptr;
  AsideWatch* aside_ = nullptr;
  std::vector<Run*> under_way_;  ///< each inside the one before
};

}  // namespace stowage::recompute
