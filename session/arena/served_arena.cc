#include "session/arena/served_arena.h"

#include <algorithm>
#include <utility>

#include "allocator/arena/backend.h"
#include "allocator/layout/stream_regions.h"

namespace stowage::session {

// ---- what there is

allocator::PlannedAllocator* ServedArena::owner_of(const void* address) const noexcept {
  allocator::PlannedAllocator* const now = hot_.owner.load(std::memory_order_acquire);
  return now != nullptr && now->owns(address) ? now : hot_.former.find(address);
}

Bytes ServedArena::committed_bytes() const {
  const allocator::PlannedAllocator* const now = hot_.owner.load(std::memory_order_acquire);
  return (now == nullptr ? Bytes(0) : now->committed_bytes()) + hot_.former.committed();
}

Bytes ServedArena::live_bytes() const {
  const allocator::PlannedAllocator* const now = hot_.owner.load(std::memory_order_acquire);
  return (now == nullptr ? Bytes(0) : now->live_bytes()) + hot_.former.live();
}

void ServedArena::meter(bool metered) {
  if (Ledger* const ledger = port_.ledger()) ledger->note_in_arena(live_bytes());
  hot_.metered.store(metered, std::memory_order_relaxed);
}

Bytes ServedArena::peak_bytes() const {
  const allocator::PlannedAllocator* const now = hot_.owner.load(std::memory_order_acquire);
  return now == nullptr ? Bytes(0) : now->peak_bytes();
}

Bytes ServedArena::outside_bytes(const UpstreamUse& use) const {
  return hot_.former.any() ? use.allocated + hot_.former.live() : use.allocated;
}

Bytes ServedArena::staying_outside(const JointPlan& plans) const {
  const Bytes outside = outside_bytes(port_.upstream_use());
  return saturating_sub(outside, handed_on(plans));
}

Bytes ServedArena::counted_outside(const JointPlan& plans, Bytes lasting) const {
  const Bytes in_place = saturating_sub(allocator().live_bytes(), lasting);
  const Bytes displaced = saturating_sub(least_handed_on(plans), in_place);
  return saturating_sub(saturating_sub(port_.ledger()->held(), arena_->charged()), displaced);
}

// ---- mapping and serving

Result<bool> ServedArena::serve(const std::vector<Plan>& plans) {
  if (exists()) {
    if (budget_.on() && !blocks_its_plans() && parts_.add_all()) {
      const bool taken = static_cast<bool>(allocator().replace_plans(plans));
      parts_.begin(*arena_);  // it may have grown even for a plan that it cannot take
      note_memory();
      if (taken) return true;
    }
    give_back();
    if (exists() && !port_.may_wait()) return false;
    if (Status gone = make_way(); !gone) return gone.error();
  }
  if (Status mapped = map_for(plans); !mapped) return mapped.error();
  return true;
}

// What lives in it may stay, in places of the plans that come: another arena costs as little.
bool ServedArena::blocks_its_plans() const {
  return port_.commits_on_touch() && port_.may_wait() && allocator().live_bytes().value() != 0;
}

Status ServedArena::make_way() {
  if (!exists()) return {};
  pause();
  if (part_with()) return {};
  return Error{ErrorCode::kOutOfMemory,
               "the arena cannot be exchanged while tensors of the old plan live in it"};
}

Status ServedArena::serve_online(Bytes expected) {
  constexpr Bytes kLeast{std::uint64_t{2} << 20};  // to begin with
  pause();
  give_back();
  if (Status gone = make_way(); !gone) return gone;
  if (fault_ == Fault::kArena)
    return Error{ErrorCode::kOutOfMemory, "no memory for the arena (STOWAGE_FAULT)"};
  Result<std::unique_ptr<RetirableArena>> retirable = map_retirable(kLeast, allocator::Backing::kInPages);
  if (!retirable) return retirable.error();
  if ((*retirable)->reserved() <= (*retirable)->mapped()) {
    (*retirable)->retire();
    return Error{ErrorCode::kUnsupported, "an arena of this kind of memory cannot grow"};
  }
  own(std::move(*retirable), {}, expected);
  return {};
}

Status ServedArena::map_for(const std::vector<Plan>& plans) {
  if (Status apart = allocator::StreamRegions().admit(plans); !apart) return apart;
  if (fault_ == Fault::kArena)
    return Error{ErrorCode::kOutOfMemory, "no memory for the arena (STOWAGE_FAULT)"};
  Bytes height = highest(plans);
  if (!budget_.on()) height = allocator::with_room_above(height);
  const bool at_once = port_.commits_on_touch() || (budget_.on() && !port_.commits_in_parts());
  Result<std::unique_ptr<RetirableArena>> retirable =
      map_retirable(height, at_once ? allocator::Backing::kNow : allocator::Backing::kOnUse);
  if (!retirable) return retirable.error();
  own(std::move(*retirable), plans);
  return {};
}

// Without plans it is served online.
void ServedArena::own(std::unique_ptr<RetirableArena> arena, const std::vector<Plan>& plans, Bytes expected) {
  arena_ = arena.get();
  parts_.begin(*arena_);
  allocators_.push_back(
      std::make_unique<allocator::PlannedAllocator>(std::move(arena), plans, port_.arena_counters()));
  if (plans.empty()) allocator().serve_online(expected);
  allocator().improvise(true, /*has_room_above=*/!budget_.on());
  allocator().set_outside_bytes(outside_bytes(port_.upstream_use()));
  note_memory();
  if (plans.empty()) watch_memory(!port_.commits_on_touch());
  hot_.owner.store(&allocator(), std::memory_order_release);
}

// Memory is committed on use where the device can, while upstream's goes: never both at once. Under a budget
// bytes are counted before they are mapped; none, if there is no room yet and memory is committed on touch.
Result<std::unique_ptr<RetirableArena>> ServedArena::map_retirable(Bytes height, allocator::Backing backing) {
  Ledger* const ledger = port_.ledger();
  if (backing != allocator::Backing::kNow && port_.commits_in_parts()) {
    Result<std::unique_ptr<allocator::Arena>> empty = port_.map_arena(height, backing);
    if (!empty.ok()) return empty.error();
    return std::make_unique<RetirableArena>(std::move(*empty), ledger, /*page=*/Bytes(0), Bytes(0));
  }
  const Bytes whole = allocator::round_up_to(height, port_.arena_page());
  const Bytes charged = ledger == nullptr || ledger->try_take_arena(whole) ? whole : Bytes(0);
  if (charged.value() == 0 && !port_.commits_on_touch())
    return Error{ErrorCode::kOutOfMemory, "the arena does not fit into the budget any more"};
  Result<std::unique_ptr<allocator::Arena>> mapped = port_.map_arena(height, backing);
  const bool as_counted = mapped.ok() && (*mapped)->mapped() == whole;
  if (!as_counted && ledger != nullptr) ledger->give_arena(charged);
  if (!mapped.ok()) return mapped.error();
  if (!as_counted && ledger != nullptr)
    return Error{ErrorCode::kInternal,
                 "the arena was mapped in other pages than the device's; please report this"};
  const Bytes counted = ledger == nullptr ? charged : std::min(charged, (*mapped)->committed());
  if (ledger != nullptr) ledger->give_arena(charged - counted);
  return std::make_unique<RetirableArena>(std::move(*mapped), ledger, port_.arena_page(), counted);
}

void ServedArena::pause() {
  hot_.serving.store(nullptr, std::memory_order_release);
  settling_.store(nullptr, std::memory_order_release);
}

void ServedArena::resume() {
  const bool whole = arena_->charged() >= arena_->committed() || port_.ledger() == nullptr;
  settling_marks_ = 0;
  shortage_ = kNoShortage;
  (whole ? hot_.serving : settling_).store(&allocator(), std::memory_order_release);
}

bool ServedArena::shut_out() { return static_cast<bool>(allocator().replace_plans({})); }

// ---- settling

void* ServedArena::allocate_settling(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream) {
  void* const address = now.allocate(bytes, stream);
  if (address == nullptr) return nullptr;
  const auto offset =
      static_cast<std::uint64_t>(static_cast<std::byte*>(address) - static_cast<std::byte*>(arena_->base()));
  if (parts_.add(offset, round_up(bytes))) return address;
  port_.release_upstream_cache();
  if (parts_.add(offset, round_up(bytes))) return address;
  now.refuse(address);
  return nullptr;
}

void ServedArena::note_memory() {
  const bool lacks = lacks_memory();
  watch_memory(lacks);
  lacks_pages_ = lacks && budget_.on() && port_.commits_in_parts();
}

bool ServedArena::count_whole() {
  if (port_.commits_in_parts() ? !allocator().commit_all().ok() : !parts_.add_all()) return false;
  settling_marks_ = 0;
  shortage_ = kNoShortage;
  lacks_pages_ = false;
  watch_memory(false);
  settling_.store(nullptr, std::memory_order_release);
  hot_.serving.store(&allocator(), std::memory_order_release);
  return true;
}

void ServedArena::settle_again() {
  allocator::PlannedAllocator* const now = hot_.serving.load(std::memory_order_relaxed);
  if (now == nullptr || !port_.commits_on_touch()) return;
  settling_.store(now, std::memory_order_release);
  hot_.serving.store(nullptr, std::memory_order_release);
}

Status ServedArena::grow_settling(Bytes height) {
  settle_again();
  return arena_->grow_uncounted(height);
}

// ---- giving back

Bytes ServedArena::give_up_free_parts(Bytes most) {
  if (port_.commits_in_parts()) {
    if (!port_.may_wait()) return Bytes(0);
    const Bytes gone = allocator().decommit_idle(Offset(0), most);
    note_memory();
    return gone;
  }
  Bytes freed{0};
  allocator().visit_free(mapped(), [&](std::uint64_t begin, std::uint64_t end) {
    const Bytes gone = port_.decommit(static_cast<std::byte*>(arena_->base()) + begin, Bytes(end - begin));
    if (gone.value() != 0) freed += parts_.forget(begin, end);
  });
  parts_.give(freed);
  return freed;
}

void ServedArena::give_back() {
  if (port_.may_wait() && !hot_.uses.any_in_arena()) shrink_former_now();
  if (!exists() || hot_.serving.load(std::memory_order_relaxed) != nullptr || hot_.uses.any_in_arena())
    return;
  if (settles() || !port_.may_wait() || !shut_out()) return;
  if (allocator().live_bytes().value() != 0) return give_back_idle();
  hot_.owner.store(nullptr, std::memory_order_release);  // before the addresses can be mapped again
  arena_->retire();
  arena_ = nullptr;
}

// Under a budget the CPU arena's blocks are counted one by one; give_up_free_parts() gives them back.
void ServedArena::give_back_idle() {
  if (budget_.on() && port_.commits_on_touch()) return;
  allocator().decommit_idle();
  watch_memory(true);
}

// Under a budget a former arena is counted by its blocks from then on, which requires memory that is
// committed on touch.
bool ServedArena::part_with() {
  shut_out();
  if (budget_.on()) {
    if (!port_.commits_on_touch() || settles()) return false;
    give_up_free_parts();
  }
  if (!hot_.former.add(allocator(), *arena_)) return false;
  hot_.owner.store(nullptr, std::memory_order_release);
  arena_ = nullptr;
  shrink_former_now();
  return true;
}

void ServedArena::shrink_former_now() {
  if (!hot_.former.any()) return;
  FormerArenas::Decommit decommit;
  if (port_.commits_on_touch())
    decommit = [this](void* address, Bytes bytes) { return port_.decommit(address, bytes); };
  hot_.former.shrink(decommit);
}

void ServedArena::shrink_former() {
  constexpr std::uint64_t kMarksLetPass = 8;
  if (!hot_.former.any() || !port_.may_wait()) return;
  if (hot_.uses.any_in_arena() && ++marks_let_pass_ < kMarksLetPass) return;
  marks_let_pass_ = 0;
  shrink_former_now();
}

void ServedArena::after_fork() noexcept {
  hot_.serving.store(nullptr, std::memory_order_relaxed);
  settling_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace stowage::session
