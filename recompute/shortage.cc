#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "recompute/machine/machine.h"
#include "recompute/recompute.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

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
  std::uint64_t offloadable = 0;  ///< of what is evictable
  std::uint64_t evictable = 0;
  std::uint64_t foreign = 0;  ///< in use, or not given when they were asked for
  std::uint64_t copies = 0;   ///< of what was overwritten, while something evicted starts from it

  void add(const StorageRecord& record, bool may_copy, Bytes smallest) {
    const std::uint64_t bytes = record.address->nbytes();
    const bool fixed = record.pinned || record.parameter || record.may_change() || record.holds > 0;
    if (!may_copy && !Residency::may_evict(record)) {
      (record.locks > 0 ? locked : fixed ? pinned : leaves) += bytes;
    } else if (record.bytes < smallest.value()) {
      small += bytes;
    } else {
      evictable += bytes;
      if (may_copy) offloadable += bytes;
    }
  }
};

// Each once.
std::uint64_t copies_for(const StorageRecord& evicted, Place place, std::uint64_t stamp) {
  std::uint64_t bytes = 0;
  for (const Ref<Value>& leaf : evicted.leaves) {
    if (!leaf->kept || !leaf->anchor || std::exchange(leaf->stamp, stamp) == stamp) continue;
    if (place.covers(leaf->anchor.device())) bytes += leaf->anchor.nbytes();
  }
  return bytes;
}

// What no allocator of PyTorch's owns (files, NumPy's arrays) is not part of what is held.
Holdings holdings(Machine& all, Place place) {
  Holdings held;
  const std::uint64_t stamp = all.book.next_stamp();
  all.book.for_each([&](StorageRecord& record) {
    if (!record.alive()) return;
    if (record.away()) return void(held.copies += copies_for(record, place, stamp));
    if (!place.covers(record.address->device())) return;
    if (!owned_by_allocator(*record.address)) return;
    held.add(record, all.residency.offloader().may_offload(record), all.options.smallest);
  });
  all.foreign.for_each_resident(place, [&](const ForeignBuffer& buffer) {
    (buffer.uses > 0 || buffer.refused ? held.foreign : held.evictable) += buffer.owner.bytes;
  });
  return held;
}

// Names parts of a whole, each no more than what is left of it.
class Parts {
 public:
  explicit Parts(std::uint64_t whole) : left_(whole) {}
  void add(std::uint64_t bytes, std::string_view what) {
    bytes = std::min(bytes, left_);
    left_ -= bytes;
    if (bytes > 0) text_.append(in_units(bytes)).append(" ").append(what).append(", ");
  }
  void add_rest(std::string_view what) { add(left_, what); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
  std::string text_;
};

std::string why_not_evicted(const Machine& all) {
  if (!all.residency.trouble().empty()) return " (not offloaded: " + all.residency.trouble() + ")";
  if (all.thrashes()) return " (not evicted, since recomputation already takes most of the time)";
  return {};
}

std::string what_would_help(const Machine& all, const Holdings& known, int device_type) {
  if (all.stores.of(device_type) != nullptr || known.pinned + known.leaves == 0) return {};
  return std::string(" What cannot be recomputed can be offloaded: ") +
         (device_type == 0 ? "set STOWAGE_SPILL to a folder on a disk."
                           : "STOWAGE_HOST_MEMORY=0 forbids it.");
}

}  // namespace

Bytes Runtime::evictable(int device_type, int device_index) {
  Machine& all = machine();
  if (!all.on.load()) return Bytes(0);
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  const Holdings held = holdings(all, {device_type, device_index});
  return Bytes(all.thrashes() ? held.offloadable : held.evictable);
}

std::string Runtime::explain_shortage(const Shortage& shortage, int device_type, int device_index) {
  if (this_thread().may_fail > 0) return {};
  Machine& all = machine();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  const Holdings known = holdings(all, {device_type, device_index});
  const std::uint64_t held = shortage.held.value();
  const std::uint64_t evictable = std::min(held, known.evictable);
  Parts parts(held - evictable);
  parts.add(shortage.idle_arena.value(), "idle in the plan's arena");
  parts.add(shortage.cached.value(), "free in PyTorch's cache or lost to fragmentation");
  const char* const op = this_thread().op;
  parts.add(known.locked,
            op == nullptr ? "in use by other threads" : "in use by the running op (" + std::string(op) + ")");
  parts.add(known.pinned, "parameters and other pinned tensors");
  parts.add(known.leaves, "that cannot be recomputed");
  parts.add(known.small, "in small tensors");
  parts.add(known.foreign, "in registered buffers that their owners use");
  parts.add(shortage.workspaces.value(), "in cuBLAS workspaces");  // counted by size: tensors come first
  parts.add(known.copies, "in copies that recomputation starts from");
  parts.add(static_cast<std::uint64_t>(std::max<std::int64_t>(this_thread().op_bytes, 0)),
            "made by the running op so far (outputs, workspace)");
  parts.add_rest("in other libraries, recomputations under way, tensors that no op has used, and rounding");

  const std::uint64_t limit = shortage.limit.value();
  const std::uint64_t kept = held - evictable;
  const bool has_holes = kept + shortage.wanted.value() <= limit;
  const std::uint64_t needed = (has_holes ? limit : kept) + shortage.wanted.value();
  return in_units(shortage.wanted.value()) + " more do not fit. Held: " + in_units(held) + ", of these " +
         parts.text() + in_units(evictable) + " evictable" + why_not_evicted(all) + ". A budget of " +
         in_units(needed) + " would be enough here." + what_would_help(all, known, device_type);
}

}  // namespace stowage::recompute
