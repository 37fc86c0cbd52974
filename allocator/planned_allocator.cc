#include "allocator/planned_allocator.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "allocator/cursor.h"
#include "allocator/layout.h"
#include "allocator/spin_lock.h"
#include "allocator/stream_regions.h"
#include "core/check.h"

namespace stowage::allocator {
namespace {

constexpr HotEntry kNoPlan{};  // the end of a plan with no entries

std::uint64_t highest(const std::vector<Plan>& plans) {
  std::uint64_t height = 0;
  for (const Plan& plan : plans) height = std::max(height, plan.height.value());
  return height;
}

Status check_plan(const Plan& plan, const Arena& arena) {
  if (Status valid = plan.validate(); !valid.ok()) return valid;
  if (plan.height <= arena.reserved()) return {};
  return Error{ErrorCode::kOutOfMemory,
               "the plan needs " + std::to_string(plan.height.value()) + " bytes and the arena reserves " +
                   std::to_string(arena.reserved().value()) + ": reserve more, or plan with a lower budget"};
}

Status out_of_host_memory() {
  return Error{ErrorCode::kOutOfMemory,
               "the host has no memory left for the plan's tables: free some and plan again"};
}

}  // namespace

struct PlannedAllocator::State {
  State(std::unique_ptr<Arena> given, std::vector<Plan> first, ArenaCounters* shared)
      : own_counters(shared == nullptr ? std::make_unique<ArenaCounters>() : nullptr),
        counters(shared == nullptr ? *own_counters : *shared),
        lock(counters.lock()),
        counting(shared != nullptr),
        base(static_cast<char*>(given->base())),
        reserved(given->reserved().value()),
        arena(std::move(given)),
        plans(std::move(first)),
        layout(plans, arena->mapped(), nullptr),
        cursor(plans) {
    follow_cursor();
  }

  const std::unique_ptr<ArenaCounters> own_counters;  ///< for the lock, if there are no others
  ArenaCounters& counters;
  SpinLock& lock;
  const bool counting;

  // What owns() reads: never changes.
  char* const base;
  const std::uint64_t reserved;

  // The hot path's own, kept together.
  const HotEntry* next = nullptr;         ///< the entry that the cursor will be at, hits included
  const HotEntry* first_entry = nullptr;  ///< of the current plan
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  std::uint64_t outside = 0;
  ServeCounts counts;

  std::unique_ptr<Arena> arena;
  std::vector<Plan> plans;
  Layout layout;
  Cursor cursor;
  StreamRegions regions;  ///< of all plans there were
  std::uint64_t misses_of_iteration = 0;

  [[nodiscard]] std::uint64_t offset_of(const void* address) const {
    return static_cast<std::uint64_t>(static_cast<const char*>(address) - base);
  }
  void note_peak() {
    if (live + outside > peak) peak = live + outside;
  }
  void* give(const Slot& slot, std::uint64_t bytes, std::uint64_t requested) {
    if (counting) {
      layout.owner_of(slot).slack = static_cast<std::uint16_t>(bytes - requested);
      counters.add(Bytes(requested));
    }
    live += bytes;
    note_peak();
    ++counts.hits;
    return base + slot.offset;
  }
  void vacate(Owner& owner) {
    live -= owner.bytes;
    layout.vacate(owner);
  }
  void follow_cursor() {
    const Position at = cursor.position();
    first_entry = at.plan < plans.size() ? layout.entries(at.plan) : &kNoPlan;
    next = first_entry + at.entry;
  }
  void update_cursor() { cursor.advance_to(static_cast<std::uint32_t>(next - first_entry)); }

  void uncount(const Owner& owner) {
    if (counting) counters.remove(Bytes(owner.bytes - owner.slack));
  }

  void* allocate_slow(Request request, std::uint64_t requested);
  void* serve(Position at, Request request, std::uint64_t requested);
  void* take(Position at, Request request, std::uint64_t requested);
  void* miss(Miss reason);
  void install(std::vector<Plan> wanted, bool keep_position);
  Status add(Plan plan);
  Status replace(std::vector<Plan> wanted);
};

void* PlannedAllocator::State::miss(Miss reason) {
  ++counts.misses[static_cast<std::size_t>(reason)];
  ++misses_of_iteration;
  return nullptr;
}

// The slot of the entry `at`, or its spare one, if either is free.
void* PlannedAllocator::State::take(Position at, Request request, std::uint64_t requested) {
  const HotEntry& entry = layout.entries(at.plan)[at.entry];
  if (layout.try_take(entry.slot, request.bytes)) return give(entry.slot, request.bytes, requested);
  if (layout.try_take(entry.spare, request.bytes)) return give(entry.spare, request.bytes, requested);
  return nullptr;
}

// The request stands for the entry `at`, which the cursor has passed.
void* PlannedAllocator::State::serve(Position at, Request request, std::uint64_t requested) {
  if (void* const address = take(at, request, requested)) return address;
  if (plans[at.plan].entries[at.entry].offset == kUpstream) {
    ++counts.planned_upstream;
    return nullptr;
  }
  // A slot that is in use is also a sign that the iteration is another plan's, which begins alike but keeps
  // more.
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan) {
    if (!cursor.may_follow(plan, at)) continue;
    if (void* const address = take({plan, at.entry}, request, requested)) {
      cursor.follow(plan);
      follow_cursor();
      return address;
    }
  }
  // What that plan keeps for longer than an iteration may be upstream's in it.
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan) {
    if (!cursor.may_follow(plan, at) || plans[plan].entries[at.entry].offset != kUpstream) continue;
    cursor.follow(plan);
    follow_cursor();
    ++counts.planned_upstream;
    return nullptr;
  }
  return miss(Miss::kSlotInUse);
}

[[gnu::noinline, gnu::cold]] void* PlannedAllocator::State::allocate_slow(Request request,
                                                                          std::uint64_t requested) {
  update_cursor();
  if (cursor.expects(request)) {
    const Position at = cursor.position();
    cursor.advance_to(at.entry + 1);
    ++next;
    return serve(at, request, requested);
  }
  const bool beyond = cursor.at_end();
  const std::optional<Position> found = cursor.find(request);
  if (!found) return miss(beyond ? Miss::kBeyondPlan : Miss::kUnexpected);
  follow_cursor();
  return serve(*found, request, requested);
}

PlannedAllocator::PlannedAllocator(std::unique_ptr<Arena> arena, std::vector<Plan> plans,
                                   ArenaCounters* counters)
    : state_(std::make_unique<State>(std::move(arena), std::move(plans), counters)) {
  State& state = *state_;
  for (const Plan& plan : state.plans) {
    STOWAGE_CHECK(check_plan(plan, *state.arena).ok(), "a plan is invalid or does not fit the arena");
  }
  STOWAGE_CHECK(state.regions.admit(state.plans).ok(), "plans give one address to two streams");
  // A device without the memory leaves the slots beyond mapped() unserved, which is a miss and no failure.
  if (const Bytes height(highest(state.plans));
      height > state.arena->mapped() && state.arena->grow(height).ok()) {
    state.install(std::move(state.plans), false);
  }
}

PlannedAllocator::~PlannedAllocator() = default;

void* PlannedAllocator::allocate(Bytes rounded, StreamId stream, Bytes requested) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  const HotEntry& entry = *state.next;
  const std::uint64_t bytes = rounded.value();
  if (entry.bytes == bytes && entry.stream == stream.value() && state.layout.try_take(entry.slot, bytes))
      [[likely]] {
    ++state.next;
    // A plan is larger than the nearest cache. A line beyond its end does no harm.
    __builtin_prefetch(&entry + 2);
    return state.give(entry.slot, bytes, requested.value());
  }
  return state.allocate_slow({bytes, stream.value()}, requested.value());
}

bool PlannedAllocator::owns(const void* address) const noexcept {
  const State& state = *state_;
  // Below the base wraps round to a large number.
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(state.base) <
         state.reserved;
}

Bytes PlannedAllocator::size_of(const void* address) const {
  const std::lock_guard guard(state_->lock);
  return Bytes(state_->layout.live_at(state_->offset_of(address)).bytes);
}

void PlannedAllocator::free(void* address) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  Owner& owner = state.layout.live_at(state.offset_of(address));
  if (owner.holds == 0) [[likely]] {
    state.uncount(owner);
    state.vacate(owner);
    return;
  }
  STOWAGE_CHECK(!owner.freed, "this address is freed already and waits for streams that still use it");
  state.uncount(owner);
  owner.freed = true;
}

void PlannedAllocator::hold(void* address) {
  const std::lock_guard guard(state_->lock);
  ++state_->layout.live_at(state_->offset_of(address)).holds;
}

void PlannedAllocator::release(void* address) {
  const std::lock_guard guard(state_->lock);
  Owner& owner = state_->layout.live_at(state_->offset_of(address));
  STOWAGE_CHECK(owner.holds > 0, "release() without a hold()");
  if (--owner.holds == 0 && owner.freed) state_->vacate(owner);
}

void PlannedAllocator::on_mark() {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  state.update_cursor();
  if (state.cursor.mark()) {
    ++state.counts.iterations;
    if (state.misses_of_iteration == 0) ++state.counts.clean_iterations;
    state.counts.last_iteration_misses = state.misses_of_iteration;
    state.misses_of_iteration = 0;
  }
  state.follow_cursor();
}

// Everything that can fail comes before the first change.
void PlannedAllocator::State::install(std::vector<Plan> wanted, bool keep_position) {
  Layout new_layout(wanted, arena->mapped(), &layout);
  Cursor new_cursor = keep_position ? cursor : Cursor(wanted);
  if (keep_position) new_cursor.add(wanted.back());
  plans = std::move(wanted);
  layout = std::move(new_layout);
  cursor = std::move(new_cursor);
  follow_cursor();
}

Status PlannedAllocator::State::add(Plan plan) {
  if (Status fits = check_plan(plan, *arena); !fits.ok()) return fits;
  std::vector<Plan> wanted = plans;
  if (plan.height > arena->mapped()) {
    if (Status grown = arena->grow(plan.height); !grown.ok()) return grown;
  }
  if (Status apart = regions.admit({plan}); !apart.ok()) return apart;
  wanted.push_back(std::move(plan));
  update_cursor();
  install(std::move(wanted), true);
  return {};
}

Status PlannedAllocator::State::replace(std::vector<Plan> wanted) {
  for (const Plan& plan : wanted) {
    if (Status fits = check_plan(plan, *arena); !fits.ok()) return fits;
  }
  if (const Bytes height(highest(wanted)); height > arena->mapped()) {
    if (Status grown = arena->grow(height); !grown.ok()) return grown;
  }
  if (Status apart = regions.admit(wanted); !apart.ok()) return apart;
  install(std::move(wanted), false);
  return {};
}

Status PlannedAllocator::add_plan(Plan plan) try {
  const std::lock_guard guard(state_->lock);
  return state_->add(std::move(plan));
} catch (const std::bad_alloc&) {
  return out_of_host_memory();
}

Status PlannedAllocator::replace_plans(std::vector<Plan> plans) try {
  const std::lock_guard guard(state_->lock);
  return state_->replace(std::move(plans));
} catch (const std::bad_alloc&) {
  return out_of_host_memory();
}

void PlannedAllocator::set_outside_bytes(Bytes bytes) {
  const std::lock_guard guard(state_->lock);
  state_->outside = bytes.value();
  state_->note_peak();
}

Bytes PlannedAllocator::live_bytes() const {
  const std::lock_guard guard(state_->lock);
  return Bytes(state_->live);
}

Bytes PlannedAllocator::peak_bytes() const {
  const std::lock_guard guard(state_->lock);
  return Bytes(state_->peak);
}

void PlannedAllocator::reset_peak() {
  const std::lock_guard guard(state_->lock);
  state_->peak = state_->live + state_->outside;
}

ServeCounts PlannedAllocator::counts() const {
  const std::lock_guard guard(state_->lock);
  return state_->counts;
}

void PlannedAllocator::reset_counts() {
  const std::lock_guard guard(state_->lock);
  state_->counts = {};
}

const Arena& PlannedAllocator::arena() const { return *state_->arena; }

std::size_t PlannedAllocator::plan_count() const {
  const std::lock_guard guard(state_->lock);
  return state_->plans.size();
}

}  // namespace stowage::allocator
