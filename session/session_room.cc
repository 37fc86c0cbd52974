// Memory that passes between upstream and the arena, so that both together never hold more than the job was
// seen to need without a plan.
//
// A new arena has addresses and no memory. A segment gets memory when the plan first wants it; what upstream
// caches goes back to the device before that where both would be too much. The other way round, an
// evaluation that no plan knows finds the arena idle: where upstream would have to grow beyond the need, idle
// segments give their memory back first. Each pass waits for the device. A job that would do so all the time
// is better off without its plan.
#include <algorithm>

#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

constexpr Bytes kWorthReleasing{std::uint64_t{2} << 20};  // less than a page of upstream's cannot go back
constexpr std::uint64_t kStrainOfGap = 4;                 // an iteration in which the arena made way
constexpr std::uint64_t kMostStrain = 16;                 // a fifth of all iterations, for long
constexpr std::uint64_t kSharesOfLittle = 256;            // of what may be reserved
constexpr std::uint64_t kFirstShare = 4;                  // of the arena

Bytes cached(const UpstreamUse& use) { return use.reserved - std::min(use.reserved, use.allocated); }

}  // namespace

// By arenas and upstream together.
Bytes Session::State::held(Bytes upstream_reserved) { return arena.committed_bytes() + upstream_reserved; }

// The rule for most requests, with what was allowed last time: it hardly ever falls.
bool Session::State::fits(Bytes more, const UpstreamUse& use) {
  return held(use.reserved) + more <= Bytes(last_most.load(std::memory_order_relaxed));
}

void Session::State::release_upstream() {
  port.release_upstream_cache();
  unreleasable.store(cached(port.upstream_use()).value(), std::memory_order_relaxed);
}

// What cannot go back is left alone: each time waits for the device.
void Session::State::release_upstream_if_worth(const UpstreamUse& use) {
  const Bytes kept(unreleasable.load(std::memory_order_relaxed));
  if (cached(use) >= kept + kWorthReleasing) release_upstream();
}

// In the present iteration.
bool Session::State::arena_made_way() const {
  return arena_gaps.load(std::memory_order_relaxed) != gaps_before.load(std::memory_order_relaxed);
}

// The next request may need memory for a part of the arena. In an iteration in which the arena made way, and
// in those after it until the arena is whole again, upstream serves it if it has a block for it and both
// together would be too much.
void Session::State::make_room_for_arena(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream) {
  const Bytes lacking = now.lacking(bytes, stream);
  if (lacking.value() == 0) return;
  now.hold_back(false);
  const UpstreamUse use = port.upstream_use();
  if (fits(lacking, use) || !port.may_wait()) return;
  const std::optional<Bytes> most = most_reserved();
  if (most && held(use.reserved) + lacking <= *most) return;
  release_upstream_if_worth(use);
  if (!most || held(port.upstream_use().reserved) + lacking <= *most) return;
  if (!arena_made_way() && !arena_lacks.load(std::memory_order_relaxed)) return;
  if (port.upstream_growth(bytes, stream).value() == 0) {
    if (!arena_made_way()) ++arena_gaps;
    return now.hold_back(true);
  }
  conduct([&] {
    if (const Bytes sum = held(port.upstream_use().reserved) + lacking; sum > *most)
      give_up_idle(sum - *most);
  });
}

// Upstream is about to be asked for `bytes`: what it caches in vain goes first, then idle parts of the arena.
void Session::State::make_room_for_upstream(Bytes bytes, StreamId stream) {
  const UpstreamUse use = port.upstream_use();
  if (fits(bytes, use)) return;
  const std::optional<Bytes> most = most_reserved();
  if (!most || held(use.reserved) + bytes <= *most) return;
  // Where it is about little, and what is cached might do, nothing is looked at closely.
  const bool little = bytes.value() < most->value() / kSharesOfLittle && held(use.reserved) <= *most;
  if ((little || bytes < kWorthReleasing) && cached(use) >= bytes) return;
  const Bytes growth = port.upstream_growth(bytes, stream);
  if (growth.value() == 0 || held(use.reserved) + growth <= *most) return;
  release_upstream_if_worth(use);
  if (const Bytes sum = held(port.upstream_use().reserved) + growth; sum > *most) give_up_idle(sum - *most);
}

// Without a plan. Upstream is about to take more than it ever had, while what it caches lies in pieces that
// are too small. With those gone first it maps no more than it must: what lasts is kept apart while Stowage
// records and fills none of the holes that it would have filled, which is not to cost the job anything.
void Session::State::keep_peak_low(Bytes bytes) {
  const SessionState now = state.load(std::memory_order_relaxed);
  const bool unplanned = now == SessionState::kRecording || now == SessionState::kPlanning;
  if (!unplanned || bytes < kWorthReleasing || budget.on() || !port.may_wait()) return;
  const UpstreamUse use = port.upstream_use();
  if (use.reserved + bytes <= use.peak_reserved) return;
  const Bytes kept(unreleasable.load(std::memory_order_relaxed));
  const Bytes worth(std::max(kWorthReleasing.value(), use.reserved.value() / kSharesOfLittle));
  if (cached(use) >= kept + worth && port.largest_cached() < bytes) release_upstream();
}

// Each time takes milliseconds: more than is wanted now, and all of it the second time in an iteration.
void Session::State::give_up_idle(Bytes wanted) {
  allocator::PlannedAllocator& now = arena.allocator();
  if (now.committed_bytes() <= now.live_bytes()) return;
  const Bytes share(now.committed_bytes().value() / (arena_made_way() ? 1 : kFirstShare));
  const Bytes gone = now.decommit_idle(Offset(0), std::max(wanted, share));
  if (gone.value() == 0) return;
  arena.watch_memory(true);
  ++arena_gaps;
  note(2, "the arena gave " + std::to_string(gone.value()) + " bytes back to make room off the plan");
}

void Session::before_upstream_alloc(Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (state.port.commits_on_touch()) return;
  if (state.hot.serving.load(std::memory_order_acquire) == nullptr) return state.keep_peak_low(bytes);
  state.conduct([&] {
    if (state.hot.serving.load() != nullptr) state.make_room_for_upstream(bytes, stream);
  });
}

// At an iteration's end: memory has passed to and fro in so many of the last iterations that the job is
// better off without its plan.
bool Session::State::is_strained(bool clean) {
  const Bytes committed = arena.allocator().committed_bytes();
  const std::uint64_t gaps = arena_gaps.load(std::memory_order_relaxed);
  const bool gave = gaps_before.exchange(gaps) != gaps;
  arena.allocator().hold_back(false);
  arena_lacks = (gave || arena_lacks) && committed < arena.mapped();
  if (clean && committed == committed_before) arena.watch_memory(false);
  committed_before = committed;
  strain = gave ? strain + kStrainOfGap : strain - std::min<std::uint64_t>(strain, 1);
  if (strain < kMostStrain) return false;
  note(1, "the arena makes way for other memory in too many iterations");
  forget_cached_plan();
  return true;
}

}  // namespace stowage::plugin
