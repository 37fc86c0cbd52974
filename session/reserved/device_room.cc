#include "session/reserved/device_room.h"

#include <algorithm>
#include <optional>
#include <string>

#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr Bytes kWorthReleasing{std::uint64_t{2} << 20};  // less than a page of upstream's cannot go back
constexpr std::uint64_t kStrainOfGap = 4;                 // an iteration in which the arena made way
constexpr std::uint64_t kMostStrain = 16;                 // a fifth of all iterations, for long
constexpr std::uint64_t kSharesOfLittle = 256;            // of what may be reserved
constexpr std::uint64_t kFirstShare = 4;                  // of the arena

}  // namespace

void DeviceRoom::release_upstream() {
  port_.release_upstream_cache();
  unreleasable_.store(port_.upstream_use().cached().value(), std::memory_order_relaxed);
}

Bytes DeviceRoom::pinned() const {
  return std::min(port_.upstream_use().cached(), Bytes(unreleasable_.load(std::memory_order_relaxed)));
}

// Does not retry what upstream could not release: each try waits for the device.
void DeviceRoom::release_upstream_if_worth(const UpstreamUse& use) {
  const Bytes kept(unreleasable_.load(std::memory_order_relaxed));
  if (use.cached() >= kept + kWorthReleasing) release_upstream();
}

// While Stowage records, long-lived blocks are kept apart and do not fill the holes that they otherwise
// would. That must not raise the job's peak.
void DeviceRoom::keep_peak_low(Bytes bytes) {
  if (bytes < kWorthReleasing || !port_.may_wait()) return;
  const UpstreamUse use = port_.upstream_use();
  if (use.reserved + bytes <= use.peak_reserved) return;
  const Bytes kept(unreleasable_.load(std::memory_order_relaxed));
  const Bytes worth(std::max(kWorthReleasing.value(), use.reserved.value() / kSharesOfLittle));
  if (use.cached() >= kept + worth && port_.largest_cached() < bytes) release_upstream();
}

// True if it did so in the present iteration.
bool DeviceRoom::arena_made_way() const {
  return arena_gaps_.load(std::memory_order_relaxed) != gaps_before_.load(std::memory_order_relaxed);
}

// In an iteration in which the arena made way, and later until it is whole again, upstream serves the
// request if it has a block for it and both together would be too much.
Bytes DeviceRoom::for_arena(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream) {
  const Bytes lacking = now.lacking(bytes, stream);
  if (lacking.value() == 0) return Bytes(0);
  now.hold_back(false);
  if (const Ledger* const budget = limited()) return fits_budget(*budget, lacking) ? Bytes(0) : lacking;
  const UpstreamUse use = port_.upstream_use();
  if (guard_.fits(lacking, use) || !port_.may_wait()) return Bytes(0);
  const std::optional<Bytes> most = guard_.most();
  if (most && guard_.held(use.reserved) + lacking <= *most) return Bytes(0);
  release_upstream_if_worth(use);
  if (!most || guard_.held(port_.upstream_use().reserved) + lacking <= *most) return Bytes(0);
  if (!arena_made_way() && !arena_lacks_.load(std::memory_order_relaxed)) return Bytes(0);
  if (port_.upstream_growth(bytes, stream).value() != 0) return lacking;
  if (!arena_made_way()) ++arena_gaps_;
  now.hold_back(true);
  return Bytes(0);
}

// What upstream could not give back the last time counts too: it may give that back now, if it was next to
// what has been freed since.
bool DeviceRoom::fits_budget(const Ledger& ledger, Bytes lacking) {
  const Bytes missing = ledger.missing(lacking);
  if (missing.value() == 0) return true;
  const UpstreamUse use = port_.upstream_use();
  if (!port_.may_wait() || use.cached() < missing) return false;
  release_upstream_if_worth(use);
  return ledger.missing(lacking).value() == 0;
}

const Ledger* DeviceRoom::limited() const {
  const Ledger* const ledger = port_.ledger();
  return ledger != nullptr && ledger->limited() ? ledger : nullptr;
}

// If there is no room under a budget, the request is upstream's, which can evict for it.
void DeviceRoom::look_again(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream) {
  const Ledger* const budget = limited();
  if (budget == nullptr) return;
  const bool short_of_room = budget->missing(now.lacking(bytes, stream)).value() != 0;
  if (short_of_room) arena_.note_shortage();
  now.hold_back(short_of_room);
}

void DeviceRoom::give_up_idle_for(Bytes more) {
  if (const Ledger* const budget = limited())
    return static_cast<void>(arena_.give_up_free_parts(budget->missing(more)));
  const Bytes sum = guard_.held(port_.upstream_use().reserved) + more;
  if (sum > guard_.last_most()) give_up_idle(sum - guard_.last_most());
}

void DeviceRoom::for_upstream(Bytes bytes, StreamId stream) {
  const UpstreamUse use = port_.upstream_use();
  if (guard_.fits(bytes, use)) return;
  const std::optional<Bytes> most = guard_.most();
  if (!most || guard_.held(use.reserved) + bytes <= *most) return;
  // Skip the exact check for a small request that the cache can probably serve.
  const bool little = bytes.value() < most->value() / kSharesOfLittle && guard_.held(use.reserved) <= *most;
  if ((little || bytes < kWorthReleasing) && use.cached() >= bytes) return;
  const Bytes growth = port_.upstream_growth(bytes, stream);
  if (growth.value() == 0 || guard_.held(use.reserved) + growth <= *most) return;
  release_upstream_if_worth(use);
  give_up_idle_for(growth);
}

// Each release takes milliseconds, so release more than needed, and all on the second one in an iteration.
void DeviceRoom::give_up_idle(Bytes wanted) {
  allocator::PlannedAllocator& now = arena_.allocator();
  if (now.committed_bytes() <= now.live_bytes()) return;
  const Bytes share(now.committed_bytes().value() / (arena_made_way() ? 1 : kFirstShare));
  const Bytes gone = now.decommit_idle(Offset(0), std::max(wanted, share));
  if (gone.value() == 0) return;
  arena_.watch_memory(true);
  ++arena_gaps_;
  note(2, "the arena gave " + std::to_string(gone.value()) + " bytes back to make room off the plan");
}

void DeviceRoom::restart() {
  strain_ = 0;
  arena_lacks_ = false;
}

bool DeviceRoom::is_strained(bool clean) {
  allocator::PlannedAllocator& now = arena_.allocator();
  const Bytes committed = now.committed_bytes();
  const std::uint64_t gaps = arena_gaps_.load(std::memory_order_relaxed);
  const bool gave = gaps_before_.exchange(gaps) != gaps;
  now.hold_back(false);
  arena_lacks_ = (gave || arena_lacks_) && committed < arena_.mapped();
  if (clean && committed == committed_before_ && !arena_.settles()) arena_.watch_memory(false);
  committed_before_ = committed;
  strain_ = gave ? strain_ + kStrainOfGap : strain_ - std::min<std::uint64_t>(strain_, 1);
  return strain_ >= kMostStrain;
}

}  // namespace stowage::session
