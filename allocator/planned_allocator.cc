#include "allocator/planned_allocator.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "allocator/layout/layout.h"
#include "allocator/layout/spin_lock.h"
#include "allocator/planned_allocator_state.h"
#include "core/support/check.h"

namespace stowage::allocator {
namespace {

Status check_plan(const Plan& plan, const Arena& arena) {
  if (Status valid = plan.validate(); !valid.ok()) return valid;
  if (plan.height <= arena.reserved()) return {};
  return Error{ErrorCode::kOutOfMemory,
               "the plan needs " + std::to_string(plan.height.value()) + " bytes and the arena reserves " +
                   std::to_string(arena.reserved().value()) + ": reserve more, or plan with a lower budget"};
}

/// The first of `wanted` are for the same iterations as `plans`.
bool begins_alike(const std::vector<Plan>& plans, const std::vector<Plan>& wanted) {
  return plans.size() <= wanted.size() &&
         std::equal(plans.begin(), plans.end(), wanted.begin(),
                    [](const Plan& a, const Plan& b) { return a.fingerprint == b.fingerprint; });
}

Status serves_online_only() {
  return Error{ErrorCode::kInvalidPlan, "this arena is served without plans: map another one for them"};
}

Status out_of_host_memory() {
  return Error{ErrorCode::kOutOfMemory,
               "the host has no memory left for the plan's tables: free some and plan again"};
}

}  // namespace

PlannedAllocator::Hot::Hot(ArenaCounters& shared, const Arena& arena, Layout first)
    : lock(shared.lock()),
      counters(shared),
      base(reinterpret_cast<std::uintptr_t>(arena.base())),
      reserved(arena.reserved().value()),
      layout(std::move(first)) {}

void* PlannedAllocator::State::miss(Miss reason, Bytes bytes) {
  ++counts.misses[static_cast<std::size_t>(reason)];
  counts.missed_bytes += round_up(bytes).value();
  ++misses_of_iteration;
  return nullptr;
}

// The slot of the entry `at`, or its spare one, if either is free.
void* PlannedAllocator::State::take(Position at, Bytes bytes) {
  for (const Slot* slot :
       {&hot.layout.entries(at.plan)[at.entry].slot, &hot.layout.spare(at.plan, at.entry)}) {
    if (slot->owner == Slot::kNone) continue;
    const std::uint64_t end = slot->offset + round_up(bytes).value();
    if (hot.layout.try_take(*slot, bytes) ||
        (idle.commit_for(slot->offset, end, hot.layout) && hot.layout.try_take(*slot, bytes)))
      return hot.give(*slot, bytes);
  }
  return nullptr;
}

// The request stands for the entry `at`, which the cursor has passed. Where its slot is in use, other room
// keeps the iteration with its plan, so that the next one finds what that plan leaves.
void* PlannedAllocator::State::serve(Position at, Bytes bytes) {
  if (void* const address = take(at, bytes)) return address;
  const bool upstreams = plans[at.plan].entries[at.entry].offset == kUpstream;
  if (!upstreams) {
    if (void* const address = take_by_another(at, bytes, /*twin=*/true)) return address;
    if (void* const address = improvise_displaced(at, bytes)) return address;
    if (void* const address = take_by_another(at, bytes, /*twin=*/false)) return address;
  }
  if (upstreams || is_upstreams_by_another(at)) {
    ++counts.planned_upstream;
    counts.missed_bytes += round_up(bytes).value();
    return nullptr;
  }
  ++counts.displaced;
  return miss(Miss::kSlotInUse, bytes);
}

[[gnu::noinline, gnu::cold]] void* PlannedAllocator::allocate_slow(Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (state.online != nullptr) return state.serve_online(bytes, stream);
  const Request request{round_up(bytes).value(), stream.value()};
  state.update_cursor();
  if (state.cursor.expects(request)) {
    const Position at = state.cursor.position();
    state.cursor.advance_to(at.entry + 1);
    state.follow_cursor();
    return state.serve(at, bytes);
  }
  const bool beyond = state.cursor.at_end();
  const std::optional<Position> found = state.cursor.find(request);
  state.follow_cursor();
  if (!found) {
    if (void* const address = state.improvise_unplanned(bytes, stream)) return address;
    return state.miss(beyond ? Miss::kBeyondPlan : Miss::kUnexpected, bytes);
  }
  return state.serve(*found, bytes);
}

PlannedAllocator::PlannedAllocator(std::unique_ptr<Arena> arena, std::vector<Plan> plans,
                                   ArenaCounters* counters)
    : own_counters_(counters == nullptr ? std::make_unique<ArenaCounters>() : nullptr),
      hot_(counters == nullptr ? *own_counters_ : *counters, *arena,
           Layout(plans, arena->segments(), nullptr)),
      state_(std::make_unique<State>(std::move(arena), std::move(plans), hot_)) {
  State& state = *state_;
  for (const Plan& plan : state.plans) {
    STOWAGE_CHECK(check_plan(plan, *state.arena).ok(), "a plan is invalid or does not fit the arena");
  }
  STOWAGE_CHECK(state.regions.admit(state.plans).ok(), "plans give one address to two streams");
  // A device without the memory leaves the slots beyond mapped() unserved, which is a miss and no failure.
  if (const Bytes height = highest(state.plans);
      height > state.arena->mapped() && state.arena->grow(height).ok()) {
    state.install(std::move(state.plans), false);
  }
}

PlannedAllocator::~PlannedAllocator() = default;

[[gnu::noinline, gnu::cold]] bool PlannedAllocator::try_free_slow(Owner* owner, const void* address) {
  if (owner == nullptr) owner = find_live(address);
  if (owner == nullptr || owner->freed) return false;
  if (owner->holds == 0) {
    hot_.counters.remove(owner->requested);
    vacate(*owner);
    return true;
  }
  hot_.counters.part(owner->requested);
  owner->freed = true;
  return true;
}

void PlannedAllocator::refuse(void* address) {
  const std::lock_guard guard(hot_.lock);
  Owner& owner = live_at(address);
  hot_.counters.take_back(owner.requested);
  hot_.live -= owner.rounded().value();
  --hot_.hits;
  state_->miss(Miss::kSlotInUse, owner.requested);
  hot_.layout.vacate(owner);
}

void PlannedAllocator::on_mark() {
  State& state = *state_;
  const std::lock_guard guard(hot_.lock);
  state.update_cursor();
  state.idle.on_mark();
  if (state.online != nullptr) state.online->memory().on_mark();
  state.lives.on_mark(state.requests() - std::exchange(state.requests_at_mark, state.requests()));
  if (state.cursor.mark()) {
    ++state.counts.iterations;
    if (state.misses_of_iteration == 0) ++state.counts.clean_iterations;
    state.counts.last_iteration_misses = state.misses_of_iteration;
    state.misses_of_iteration = 0;
    if (hot_.layout.begin_iteration() && state.online != nullptr)
      state.online->for_live([this](Owner& owner) { hot_.layout.clamp_age(owner); });
  }
  state.follow_cursor();
}

// Everything that can fail comes before the first change.
void PlannedAllocator::State::install(std::vector<Plan> wanted, bool keep_position) {
  Layout new_layout(wanted, arena->segments(), &hot.layout);
  Cursor new_cursor = keep_position ? cursor : Cursor(wanted);
  if (keep_position) {
    new_cursor.add(wanted.back());
  } else if (begins_alike(plans, wanted)) {
    new_cursor.foresee(cursor.history());
  }
  plans = std::move(wanted);
  hot.layout = std::move(new_layout);
  cursor = std::move(new_cursor);
  follow_cursor();
  idle.note_arena();
}

Status PlannedAllocator::State::grow(Bytes height) {
  const Bytes with_room = std::min(with_room_above(height), arena->reserved());
  return arena->grow(has_room_above ? with_room : height);
}

Status PlannedAllocator::State::add(Plan plan) {
  if (online != nullptr) return serves_online_only();
  if (Status fits = check_plan(plan, *arena); !fits.ok()) return fits;
  std::vector<Plan> wanted = plans;
  if (plan.height > arena->mapped()) {
    if (Status grown = grow(plan.height); !grown.ok()) return grown;
  }
  if (Status apart = regions.admit({plan}); !apart.ok()) return apart;
  wanted.push_back(std::move(plan));
  update_cursor();
  install(std::move(wanted), true);
  return {};
}

Status PlannedAllocator::State::replace(std::vector<Plan> wanted) {
  if (online != nullptr) {
    if (!wanted.empty()) return serves_online_only();
    online->close();
    return {};
  }
  for (const Plan& plan : wanted) {
    if (Status fits = check_plan(plan, *arena); !fits.ok()) return fits;
  }
  if (const Bytes height = highest(wanted); height > arena->mapped()) {
    if (Status grown = grow(height); !grown.ok()) return grown;
  }
  if (Status apart = regions.admit(wanted); !apart.ok()) return apart;
  install(std::move(wanted), false);
  return {};
}

Status PlannedAllocator::add_plan(Plan plan) try {
  const std::lock_guard changing(state_->idle.changing());
  const std::lock_guard guard(hot_.lock);
  return state_->add(std::move(plan));
} catch (const std::bad_alloc&) {
  return out_of_host_memory();
}

Status PlannedAllocator::replace_plans(std::vector<Plan> plans) try {
  const std::lock_guard changing(state_->idle.changing());
  const std::lock_guard guard(hot_.lock);
  return state_->replace(std::move(plans));
} catch (const std::bad_alloc&) {
  return out_of_host_memory();
}

Bytes PlannedAllocator::live_bytes() const {
  const std::lock_guard guard(hot_.lock);
  return Bytes(hot_.live);
}

Bytes PlannedAllocator::peak_bytes() const {
  const std::lock_guard guard(hot_.lock);
  hot_.raise_peak();
  return Bytes(hot_.peak);
}

void PlannedAllocator::reset_peak() {
  const std::lock_guard guard(hot_.lock);
  hot_.peak = hot_.live + hot_.outside;
}

void ServeCounts::add_earlier(const ServeCounts& before) {
  hits += before.hits;
  planned_upstream += before.planned_upstream;
  for (std::size_t reason = 0; reason < misses.size(); ++reason) misses[reason] += before.misses[reason];
  improvised += before.improvised;
  online += before.online;
  displaced += before.displaced;
  served_bytes += before.served_bytes;
  missed_bytes += before.missed_bytes;
  iterations += before.iterations;
  clean_iterations += before.clean_iterations;
}

ServeCounts PlannedAllocator::counts() const {
  const std::lock_guard guard(hot_.lock);
  ServeCounts counts = state_->counts;
  counts.hits = hot_.hits;
  counts.served_bytes = hot_.served;
  return counts;
}

void PlannedAllocator::reset_counts() {
  const std::lock_guard guard(hot_.lock);
  state_->counts = {};
  hot_.hits = hot_.served = state_->requests_at_mark = 0;
}

const Arena& PlannedAllocator::arena() const { return *state_->arena; }

std::size_t PlannedAllocator::plan_count() const {
  const std::lock_guard guard(hot_.lock);
  return state_->plans.size();
}

}  // namespace stowage::allocator
