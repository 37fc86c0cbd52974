#include <algorithm>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "core/support/clock.h"
#include "recompute/away/guard_range.h"
#include "recompute/interposer/interposer.h"
#include "recompute/machine/fork_hold.h"
#include "recompute/machine/machine.h"
#include "recompute/machine/thread_watch.h"
#include "recompute/recompute.h"
#include "recompute/storage/raw_writes.h"
#include "recompute/threads/seen_thread.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"
#include "recompute/threads/training_threads.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// Runs `search` under the lock and counts its time; no exception leaves. The dead are buried bit by bit, so
// where nothing can be evicted, evicted storages that died may still keep what making them again starts from.
template <class Search>
bool search_room(Search search) noexcept try {
  Machine& all = machine();
  if (!all.on.load()) return false;
  const Lock lock(all.mutex);
  const Rescuing rescuing;
  const std::uint64_t begin = now_ns();
  const bool freed = search(all) || all.book.release_leaves_of_dead();
  all.counters.search_ns += now_ns() - begin;
  ++(freed ? all.counters.rooms : all.counters.refusals);
  return freed;
} catch (const std::exception&) {  // no memory for the search itself
  return false;
}

// While recomputation takes most of the time none is added: then things are only offloaded.
Evictor::Bounds bounds_of(const Machine& all, Place place) {
  // Of the limit: an op of a backward pass takes three such tensors, and making one of them again two more.
  constexpr std::uint64_t kLargeShare = 6;
  const std::uint64_t limit = all.limit_bytes.at(static_cast<std::size_t>(place.type)).load();
  return {all.options.smallest.value(), place, all.op_number, all.thrashes(), limit / kLargeShare};
}

bool drop_early(Machine& all, Bytes bytes, const Evictor::Bounds& bounds) {
  return all.residency.drop_early(bytes.value(), bounds.place, !bounds.only_offload) > 0;
}

// An iteration may end in the middle of a graph, as where each of two optimizers steps: what it made and what
// is alive may have to be evicted yet. A value that is made from that of the iteration before would have a
// longer history after each iteration.
bool needs_its_history(const Machine& all, const StorageRecord& record, std::uint64_t ops) {
  return Residency::may_evict(record) && record.bytes >= all.options.smallest.value() &&
         record.current->depth <= ops;
}

// Values that no op after `last` used become leaves. `ops`: how many the iteration had.
void forget_history_until(Machine& all, std::uint64_t last, std::uint64_t ops) {
  all.book.for_each([&](StorageRecord& record) {
    if (record.last_use <= last && !needs_its_history(all, record, ops)) record.current->forget_recipe();
  });
}

// Where an address was told, unseen code may write before the next iteration begins: nothing stays evicted
// that starts from there. What does not fit is an error only where it is read.
void look_for_raw_writes(Machine& all) {
  std::vector<StorageRecord*> watched;
  all.book.for_each([&](StorageRecord& record) {
    if (record.watch && record.alive() && !record.away()) watched.push_back(&record);
  });
  for (StorageRecord* const record : watched) {
    if (!check_raw_writes(*record) || record->current->anchors == 0) continue;
    try {
      const Deeper may_fail(this_thread().may_fail);
      all.residency.restore_dependents(*record);
    } catch (const c10::OutOfMemoryError&) {
      return;
    }
  }
}

}  // namespace

Status Runtime::install(const Options& options) {
  if (Status reserved = reserve_guard_range(); !reserved) return reserved;
  if (Status registered = register_interposer(); !registered) return registered;
  hold_runtime_over_forks();
  Machine& all = machine();
  const Lock lock(all.mutex);
  if (!all.on.load()) {
    all.counters = {};
    all.residency.reset_counts();
    all.forgive_thrashing();  // it counts from there
    all.findings.reset();
    all.restores.reset();
  }
  all.set_options(options);
  all.on.store(true);
  take_part(true);
  watch_threads(!all.joins_expected);
  return {};
}

void Runtime::uninstall() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  all.residency.restore_all();
  all.steps.stop();
  all.residency.bury_all_dead();
  all.book.forget_history();
  all.book.clear();
  training_threads().clear();
  all.on.store(false);
  all.watched_for_now = false;
  take_part(false);
  watch_threads(false);
}

bool Runtime::installed() noexcept { return machine().on.load(); }

bool Runtime::make_room(Bytes bytes, int device_type, int device_index) noexcept {
  return search_room([&](Machine& all) {
    const Evictor::Bounds bounds = bounds_of(all, {device_type, device_index});
    const std::uint64_t freed = all.evictor.make_room(bytes.value(), bounds);
    all.uses.note_room(all.op_number, freed);
    return freed > 0 || drop_early(all, bytes, bounds);
  });
}

bool Runtime::make_contiguous_room(Bytes bytes, int device_type, const FreeSpace& space) noexcept {
  return search_room([&](Machine& all) {
    Evictor::Bounds bounds = bounds_of(all, {device_type});
    bounds.large = 0;  // what is offloaded makes no room there
    return all.evictor.make_contiguous_room(bytes.value(), bounds, space) || drop_early(all, bytes, bounds);
  });
}

void Runtime::end_iteration() {
  Machine& all = machine();
  if (!all.on.load()) return;
  const Lock lock(all.mutex);
  if (std::exchange(all.watched_for_now, false)) watch_threads(!all.joins_expected);
  const std::uint64_t ops = all.uses.begin_iteration(all.op_number, all.book.last_serial());
  const std::uint64_t ended = training_threads().end_iteration(std::this_thread::get_id(), all.op_number);
  all.residency.bury_all_dead();
  all.steps.end_iteration();
  look_for_raw_writes(all);
  all.book.sweep();
  if (!all.residency.any_evicted()) forget_history_until(all, ended, ops);
  all.steps.begin_iteration();
}

bool Runtime::evict(c10::StorageImpl* storage) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  StorageRecord* const record = all.book.find(storage);
  return record != nullptr && all.residency.evict(*record);
}

bool Runtime::offload(c10::StorageImpl* storage) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  StorageRecord* const record = all.book.find(storage);
  return record != nullptr && all.residency.offloader().offload(*record);
}

void Runtime::use_store(int device_type, std::unique_ptr<Store> store) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  all.stores.use(device_type, std::move(store));
}

void Runtime::note_limit(Bytes limit, int device_type) {
  constexpr std::uint64_t kParts = 8;
  Machine& all = machine();
  const Lock lock(all.mutex);
  const bool offloads = all.stores.of(device_type) != nullptr;
  all.limit_bytes.at(static_cast<std::size_t>(device_type)) = limit.value();
  all.part_bytes.at(static_cast<std::size_t>(device_type)) = offloads ? limit.value() / kParts : 0;
  all.forgive_thrashing();
  all.uses.learn_needs_again();
}

Bytes Runtime::part_bytes(int device_type) {
  const Machine& all = machine();
  if (!all.splits_ops.load(std::memory_order_relaxed)) return Bytes(0);
  return Bytes(all.part_bytes.at(static_cast<std::size_t>(device_type)).load(std::memory_order_relaxed));
}

bool Runtime::is_evicted(c10::StorageImpl* storage) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  const StorageRecord* const record = all.book.find(storage);
  return record != nullptr && record->away();
}

void Runtime::join() noexcept {
  Machine& all = machine();
  if (!all.on.load()) return;
  take_part(true);
  const Lock lock(all.mutex);
  training_threads().join(std::this_thread::get_id(), all.op_number);
}

void Runtime::expect_joins(bool all_join) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  all.joins_expected = all_join;
  if (all.on.load()) watch_threads(!all_join || all.watched_for_now);
}

void Runtime::watch_until_iteration_ends() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  if (!all.on.load()) return;
  all.watched_for_now = true;
  watch_threads(true);
}

void Runtime::enter_opaque() noexcept { ++this_thread().opaque; }
void Runtime::leave_opaque() noexcept { --this_thread().opaque; }

void Runtime::suspend() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  if (all.on.load()) all.residency.restore_all();
  begin_suspension();
}

void Runtime::resume() noexcept { end_suspension(); }

void Runtime::listen(RescueListener* listener) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  all.residency.rescue().listen(listener);
}

bool Runtime::replaying() noexcept { return this_thread().replaying > 0; }
bool Runtime::may_fail() noexcept { return this_thread().may_fail > 0; }

RuntimeCounters Runtime::counters() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  RuntimeCounters counters = all.counters;
  const ResidencyCounts& counts = all.residency.counts();
  counters.evictions = counts.evictions;
  counters.restores = counts.restores;
  counters.replays = counts.replays;
  counters.replay_ns = counts.replay_ns;
  counters.replay_cost_ns = counts.replay_cost_ns;
  counters.compared = all.restores.checked();
  counters.wrong = all.findings.wrong();
  counters.choices = all.forced.choices();
  counters.evicted = Bytes(counts.evicted_bytes);
  counters.evicted_total = Bytes(counts.evicted_total);
  counters.offloads = counts.offloads;
  counters.fetches = counts.fetches;
  counters.copy_ns = counts.copy_ns;
  counters.copy_cost_ns = counts.copy_cost_ns;
  counters.offloaded = Bytes(counts.offloaded_bytes);
  counters.offloaded_total = Bytes(counts.offloaded_total);
  counters.copied_total = Bytes(counts.copied_total);
  return counters;
}

}  // namespace stowage::recompute
