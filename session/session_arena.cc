// The arena of a session, and how it finds room under a budget.
//
// At a switch upstream still holds what the last iteration left, for which the arena has places too. Where
// the budget has no room for both, the arena is counted bit by bit, as the job comes to use it
// (charged_parts.h); within an iteration or two upstream's part is gone and the arena is counted as a whole.
#include <algorithm>
#include <utility>

#include "allocator/backend.h"
#include "allocator/stream_regions.h"
#include "session/session_state.h"

namespace stowage::plugin {
namespace {

constexpr std::uint64_t kSettlingMarks = 3;  // iterations, then the arena does not fit

// The bytes are counted before they are mapped; none, where there is no room yet and none are taken yet.
Result<std::unique_ptr<RetirableArena>> map_retirable(DevicePort& port, Bytes height,
                                                      allocator::Backing backing) {
  Ledger* const ledger = port.ledger();
  const Bytes whole = allocator::round_up_to(height, port.arena_page());
  const Bytes charged = ledger == nullptr || ledger->try_take_arena(whole) ? whole : Bytes(0);
  if (charged.value() == 0 && !port.commits_on_touch())
    return Error{ErrorCode::kOutOfMemory, "the budget has no room for the arena any more"};
  Result<std::unique_ptr<allocator::Arena>> mapped = port.map_arena(height, backing);
  const bool as_counted = mapped.ok() && (*mapped)->mapped() == whole;
  if (!as_counted && ledger != nullptr) ledger->give_arena(charged);
  if (!mapped.ok()) return mapped.error();
  if (!as_counted && ledger != nullptr)
    return Error{ErrorCode::kInternal,
                 "the arena was mapped in other pages than the device's; please report this"};
  const Bytes counted = ledger == nullptr ? charged : std::min(charged, (*mapped)->committed());
  if (ledger != nullptr) ledger->give_arena(charged - counted);
  return std::make_unique<RetirableArena>(std::move(*mapped), ledger, port.arena_page(), counted);
}

}  // namespace

Status Session::State::serve(const Plan& plan) {
  if (owner.load() != nullptr) {
    if (budget.on() && parts.add_all()) {
      const bool taken = static_cast<bool>(planned.back()->replace_plans({plan}));
      parts.begin(*arena);  // it may have grown even for a plan that it cannot take
      if (taken) return {};
    }
    give_back_arena();
    if (owner.load() != nullptr && !part_with_arena())
      return Error{ErrorCode::kOutOfMemory,
                   "the arena cannot be exchanged while tensors of the old plan live in it"};
  }
  return map_for({plan});
}

Status Session::State::map_for(const std::vector<Plan>& plans_of_job) {
  if (Status apart = allocator::StreamRegions().admit(plans_of_job); !apart) return apart;
  if (settings.fault == Fault::kArena)
    return Error{ErrorCode::kOutOfMemory, "no memory for the arena (STOWAGE_FAULT)"};
  // Memory comes as the job uses it, while upstream's goes: never both at once.
  Bytes height{0};
  for (const Plan& plan : plans_of_job) height = std::max(height, plan.height);
  const bool on_use = !budget.on() && !port.commits_on_touch();
  Result<std::unique_ptr<RetirableArena>> retirable =
      map_retirable(port, height, on_use ? allocator::Backing::kOnUse : allocator::Backing::kNow);
  if (!retirable) return retirable.error();
  arena = retirable->get();
  parts.begin(*arena);
  planned.push_back(std::make_unique<allocator::PlannedAllocator>(std::move(*retirable), plans_of_job,
                                                                  port.arena_counters()));
  planned.back()->set_outside_bytes(outside_bytes(port.upstream_use()));
  thin.store(arena->committed() < arena->mapped(), std::memory_order_relaxed);
  owner.store(planned.back().get(), std::memory_order_release);
  return {};
}

void Session::State::pause_serving() {
  serving.store(nullptr, std::memory_order_release);
  settling.store(nullptr, std::memory_order_release);
}

void Session::State::resume_serving() {
  const bool whole = arena->charged() >= arena->committed() || port.ledger() == nullptr;
  settling_marks = 0;
  (whole ? serving : settling).store(planned.back().get(), std::memory_order_release);
}

void* Session::State::allocate_settling(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream) {
  void* const address = now.allocate(bytes, stream);
  if (address == nullptr) return nullptr;
  const auto offset =
      static_cast<std::uint64_t>(static_cast<std::byte*>(address) - static_cast<std::byte*>(arena->base()));
  if (parts.add(offset, round_up(bytes))) return address;
  port.release_upstream_cache();
  if (parts.add(offset, round_up(bytes))) return address;
  now.refuse(address);
  return nullptr;
}

// At an iteration's end. False: the arena does not fit, and the plan is left.
bool Session::State::settle() {
  allocator::PlannedAllocator* const now = settling.load(std::memory_order_relaxed);
  if (now == nullptr) return rest_under_plan(), true;
  port.release_upstream_cache();
  if (parts.add_all() || (settling_marks > 0 && grow_budget() && parts.add_all())) {
    settling_marks = 0;
    settling.store(nullptr, std::memory_order_release);
    serving.store(now, std::memory_order_release);
    return rest_under_plan(), true;
  }
  if (++settling_marks < kSettlingMarks * window_marks) return true;
  const Bytes excess = port.ledger()->missing(arena->mapped() - arena->charged());
  pause_serving();
  shut_out(*now);
  give_up_free_parts();
  facts.forget_plans();
  refuse_arena(arena->mapped(), excess);
  return false;
}

bool Session::State::evicts_under_plan() const {
  return scheduled.load(std::memory_order_acquire) || settling.load(std::memory_order_acquire) != nullptr;
}

// In the arena tensors lie in blocks of 512 bytes, so that a plan may take a little more than the heap did.
bool Session::State::grow_budget() {
  return !scheduled.load(std::memory_order_relaxed) &&
         budget.raise_own_peak(port.ledger()->upstream() + arena->mapped());
}

// Without a schedule a plan that fits needs no runtime.
void Session::State::rest_under_plan() {
  const bool whole = settling.load(std::memory_order_relaxed) == nullptr;
  if (whole && !scheduled.load(std::memory_order_relaxed) && budget.on() && budget.may_rest()) budget.rest();
}

// What nobody uses of the arena goes back to the device; what is in use stays where it is until it is freed.
Bytes Session::State::give_up_free_parts() {
  Bytes freed{0};
  planned.back()->visit_free(arena->mapped(), [&](std::uint64_t begin, std::uint64_t end) {
    const Bytes gone = port.decommit(static_cast<std::byte*>(arena->base()) + begin, Bytes(end - begin));
    if (gone.value() != 0) freed += parts.forget(begin, end);
  });
  parts.give(freed);
  return freed;
}

// A request that the plan does not know needs room. While the runtime is there the plan goes on with what is
// left, and the arena is counted as a whole again when there is room; without it, nobody evicts: the plan is
// left.
bool Session::State::give_up_free_arena() {
  if (owner.load(std::memory_order_acquire) == nullptr) return false;
  if (busy.test_and_set(std::memory_order_acquire)) return false;  // inside a mark
  bool gave = false;
  if (owner.load() != nullptr && arena != nullptr) {
    allocator::PlannedAllocator* const now = serving.load(std::memory_order_relaxed);
    if (!evicts_under_plan()) {
      pause_serving();
      plan_left = true;
    } else if (now != nullptr) {
      settling.store(now, std::memory_order_release);
      serving.store(nullptr, std::memory_order_release);
    }
    gave = give_up_free_parts().value() != 0;
  }
  leave();
  return gave;
}

void Session::State::give_back_arena() {
  if (former.any() && port.may_wait() && !uses.any_waiting()) former.shrink();
  allocator::PlannedAllocator* old = owner.load(std::memory_order_relaxed);
  if (old == nullptr || serving.load(std::memory_order_relaxed) != nullptr || uses.any_waiting()) return;
  if (settling.load(std::memory_order_relaxed) != nullptr) return;
  if (!port.may_wait() || !shut_out(*old)) return;
  if (old->live_bytes().value() != 0) return give_back_idle();
  owner.store(nullptr, std::memory_order_release);  // before the addresses can become somebody else's
  arena->retire();
  arena = nullptr;
}

// What is in use of an arena that hands nothing out any more stays where it is. Under a budget the host's
// parts are counted one by one, and go back in give_up_free_parts().
void Session::State::give_back_idle() {
  if (budget.on() && port.commits_on_touch()) return;
  planned.back()->decommit_idle();
  thin.store(true, std::memory_order_relaxed);
}

// For a plan that needs an arena of its own, while tensors of the old plan live in the present one. Under a
// budget it is counted by its blocks from then on, which only memory that is committed on touch allows.
bool Session::State::part_with_arena() {
  if (!port.may_wait()) return false;
  if (budget.on()) {
    if (!port.commits_on_touch() || settling.load(std::memory_order_relaxed) != nullptr) return false;
    give_up_free_parts();
  }
  if (!former.add(*planned.back(), *arena)) return false;
  owner.store(nullptr, std::memory_order_release);
  arena = nullptr;
  former.shrink();
  return true;
}

// It waits for the device. Where frees wait for other streams a few marks are let pass: they may be done
// soon.
void Session::State::shrink_former() {
  constexpr std::uint64_t kMarksLetPass = 8;
  if (!former.any() || !port.may_wait()) return;
  if (uses.any_waiting() && ++marks_let_pass < kMarksLetPass) return;
  marks_let_pass = 0;
  former.shrink();
}

bool Session::State::shut_out(allocator::PlannedAllocator& old) {
  return static_cast<bool>(old.replace_plans({}));  // from here on not even a late caller gets an address
}

void Session::give_back_idle() {
  finish_frees();
  state_->conduct([this] { state_->give_back_unused(); });
}

// Who follows a plan keeps the arena's addresses.
void Session::State::give_back_unused() {
  if (state.load() != SessionState::kPlanned) return give_back_arena();
  if (former.any()) former.shrink();
  if (owner.load() != nullptr) give_back_idle();
}

}  // namespace stowage::plugin
