#include <algorithm>
#include <chrono>
#include <exception>

#include "recompute/guard_range.h"
#include "recompute/interposer.h"
#include "recompute/machine.h"
#include "recompute/recompute.h"
#include "recompute/thread_watch.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Runs `search` under the lock and counts its time; no exception leaves.
template <class Search>
bool search_room(Search search) noexcept try {
  Machine& all = machine();
  if (!all.on.load()) return false;
  const Lock lock(all.mutex);
  const std::uint64_t begin = now_ns();
  const bool freed = !all.thrashes() && search(all);
  all.counters.search_ns += now_ns() - begin;
  ++(freed ? all.counters.rooms : all.counters.refusals);
  return freed;
} catch (const std::exception&) {  // no memory for the search itself
  return false;
}

// Runs `work` on the record of a storage, which is brought back first.
template <class Work>
void with_resident(c10::StorageImpl* storage, Work work) {
  Machine& all = machine();
  if (!all.on.load() || storage == nullptr) return;
  const Lock lock(all.mutex);
  const c10::Storage held(c10::intrusive_ptr<c10::StorageImpl>::unsafe_reclaim_from_nonowning(storage));
  StorageRecord& record = all.book.record_of(held);
  all.residency.restore(record);
  work(all, record);
}

std::string in_units(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1u << 10;
  constexpr std::uint64_t kMebi = 1u << 20;
  if (bytes < 10 * kMebi) return std::to_string((bytes + kKibi - 1) / kKibi) + " KiB";
  return std::to_string((bytes + kMebi - 1) / kMebi) + " MiB";
}

// Bytes that are there, by why they stay.
struct Holdings {
  std::uint64_t pinned = 0;
  std::uint64_t leaves = 0;
  std::uint64_t locked = 0;
  std::uint64_t small = 0;
  std::uint64_t evictable = 0;
  std::uint64_t foreign = 0;  ///< in use, or not given when they were asked for

  [[nodiscard]] std::uint64_t sum() const { return pinned + leaves + locked + small + evictable + foreign; }
};

Holdings holdings(Machine& all, Place place) {
  Holdings held;
  all.book.for_each([&](StorageRecord& record) {
    if (record.evicted || !record.alive()) return;
    const c10::Device device = record.address->device();
    if (!place.covers(static_cast<int>(device.type()), device.index())) return;
    if (Residency::may_evict(record))
      return void((record.bytes < all.options.smallest.value() ? held.small : held.evictable) +=
                  record.bytes);
    (record.locks > 0                  ? held.locked
     : record.pinned || record.exposed ? held.pinned
                                       : held.leaves) += record.bytes;
  });
  all.foreign.for_each_resident(place, [&](const ForeignBuffer& buffer) {
    (buffer.uses > 0 || buffer.refused ? held.foreign : held.evictable) += buffer.owner.bytes;
  });
  return held;
}

}  // namespace

Status Runtime::install(const Options& options) {
  if (Status reserved = reserve_guard_range(); !reserved) return reserved;
  if (Status registered = register_interposer(); !registered) return registered;
  Machine& all = machine();
  const Lock lock(all.mutex);
  if (!all.on.load()) {
    all.counters = {};
    all.residency.reset_counts();
  }
  all.options = options;
  all.residency.set_poison(options.poison);
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
  all.on.store(false);
  take_part(false);
  watch_threads(false);
}

bool Runtime::installed() noexcept { return machine().on.load(); }

bool Runtime::make_room(Bytes bytes, int device_type, int device_index) noexcept {
  return search_room([&](Machine& all) {
    return all.evictor.make_room(bytes.value(), all.options.smallest.value(), {device_type, device_index},
                                 all.op_number) > 0;
  });
}

bool Runtime::make_contiguous_room(Bytes bytes, int device_type, const FreeSpace& space) noexcept {
  return search_room([&](Machine& all) {
    return all.evictor.make_window(bytes.value(), all.options.smallest.value(), {device_type}, all.op_number,
                                   space);
  });
}

std::string Runtime::explain_shortage(Bytes bytes, Bytes held, int device_type, int device_index,
                                      Bytes limit) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  const Holdings known = holdings(all, {device_type, device_index});
  const std::uint64_t other = held.value() - std::min(held.value(), known.sum());
  const std::uint64_t kept = held.value() - std::min(held.value(), known.evictable);
  const bool has_holes = kept + bytes.value() <= limit.value();
  const std::uint64_t needed = (has_holes ? limit.value() : kept) + bytes.value();
  return in_units(bytes.value()) + " more do not fit. Held: " + in_units(held.value()) + ", of these " +
         in_units(known.locked) + " in use by the running op, " + in_units(known.pinned) +
         " parameters and other pinned tensors, " + in_units(known.leaves) + " that cannot be recomputed, " +
         in_units(known.small) + " in small tensors, " +
         (known.foreign == 0 ? ""
                             : in_units(known.foreign) + " in registered buffers that their owners use, ") +
         in_units(other) + " not seen by Stowage, " + in_units(known.evictable) + " evictable" +
         (all.thrashes() ? " (not evicted, since recomputation already takes most of the time)" : "") +
         ". A budget of " + in_units(needed) + " would do at this point.";
}

void Runtime::end_iteration() {
  Machine& all = machine();
  if (!all.on.load()) return;
  const Lock lock(all.mutex);
  all.iteration_began = all.op_number;
  all.residency.bury_all_dead();
  all.steps.end_iteration();
  all.residency.any_away() ? all.book.sweep() : all.book.forget_history();
  all.steps.begin_iteration();
}

void Runtime::expose(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine& all, StorageRecord& record) {
    if (record.exposed) return;
    record.exposed = true;
    all.residency.before_write(record, all.steps.driver().follows());
    all.book.overwrite(record, Ref<Value>(new Value));
  });
}

void Runtime::pin(c10::StorageImpl* storage) {
  with_resident(storage, [](Machine&, StorageRecord& record) { record.pinned = true; });
}

bool Runtime::evict(c10::StorageImpl* storage) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  StorageRecord* const record = all.book.find(storage);
  return record != nullptr && all.residency.evict(*record);
}

bool Runtime::is_evicted(c10::StorageImpl* storage) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  const StorageRecord* const record = all.book.find(storage);
  return record != nullptr && record->evicted;
}

void Runtime::join() noexcept {
  if (machine().on.load()) take_part(true);
}

void Runtime::expect_joins(bool all_join) {
  Machine& all = machine();
  const Lock lock(all.mutex);
  all.joins_expected = all_join;
  if (all.on.load()) watch_threads(!all_join);
}

void Runtime::enter_opaque() noexcept { ++opaque_depth(); }
void Runtime::leave_opaque() noexcept { --opaque_depth(); }

void Runtime::suspend() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  if (all.on.load()) all.residency.restore_all();
  begin_suspension();
}

void Runtime::resume() noexcept { end_suspension(); }

bool Runtime::replaying() noexcept { return replaying_here() > 0; }

Counters Runtime::counters() {
  Machine& all = machine();
  const Lock lock(all.mutex);
  Counters counters = all.counters;
  const ResidencyCounts& counts = all.residency.counts();
  counters.evictions = counts.evictions;
  counters.restores = counts.restores;
  counters.replays = counts.replays;
  counters.replay_ns = counts.replay_ns;
  counters.evicted = Bytes(counts.evicted_bytes);
  counters.evicted_total = Bytes(counts.evicted_total);
  return counters;
}

}  // namespace stowage::recompute
