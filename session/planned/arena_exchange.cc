#include "session/planned/arena_exchange.h"

#include <algorithm>
#include <optional>
#include <string>

#include "allocator/arena/backend.h"
#include "session/ports/heap_margin.h"
#include "session/settings/notice.h"

namespace stowage::session {

ArenaExchange::Outcome ArenaExchange::on_iteration(bool clean, Bytes reserved) {
  if (clean) reserved_clean_ = reserved;
  if (!is_due() || !may_exchange()) return Outcome::kNone;
  if (budget_.on()) {
    excess_ = lacking();
    const bool fits = excess_.value() == 0;
    if (!fits && plans_.makes_anew()) return Outcome::kNone;  // these may do without another arena
    due_for_ = 0;
    return fits ? exchange() : Outcome::kTooLarge;
  }
  due_for_ = 0;
  const Bytes pinned = arena_.allocator().pinned_bytes(plans_.crossing_offsets());
  const Bytes needed =
      std::max(reserved_clean_, arena_.mapped() + arena_.outside_bytes(port_.upstream_use()));
  const std::optional<Bytes> most = guard_.most();
  if (!most || needed + pinned <= std::max(*most, reserved)) return exchange();
  note(2, "tensors that outlive their places pin " + std::to_string(pinned.value()) +
              " bytes of the arena: the plan stays in it");
  return Outcome::kNone;
}

// Of a former arena whose memory is committed on touch the pages stay in which something lives.
Bytes ArenaExchange::pinned_pages() const {
  const std::vector<std::uint64_t> crossing = plans_.crossing_offsets();
  Bytes sum(0);
  for (const allocator::ArenaBlock& block : arena_.allocator().active_blocks()) {
    if (!std::binary_search(crossing.begin(), crossing.end(), block.offset.value()))
      sum += allocator::round_up_to(block.rounded, port_.arena_page());
  }
  return sum;
}

Bytes ArenaExchange::lacking() const {
  const Bytes pinned = pinned_pages();
  const Bytes limit = port_.ledger()->limit();
  const Bytes outside = arena_.counted_outside(plans_.in_use(), pinned);
  const Bytes needed = arena_.mapped() + pinned + outside + heap_margin(limit);
  return saturating_sub(needed, limit);
}

// It stays due as long as iterations miss.
bool ArenaExchange::is_due() {
  const std::uint64_t misses =
      arena_.allocator().counts().misses[static_cast<std::size_t>(allocator::Miss::kSlotInUse)];
  const bool goes_on = due_for_ > 0 && misses != misses_;
  const bool begins = (budget_.on() ? hurried_ : outstayed_).is_due(misses);
  due_for_ = goes_on || begins ? due_for_ + 1 : 0;
  misses_ = misses;
  return due_for_ > 0;
}

bool ArenaExchange::may_exchange() const {
  if (budget_.on() && (!port_.commits_on_touch() || arena_.settles())) return false;
  const bool waits = plans_.makes_anew() || plans_.makes_lower();
  if (waits && !(budget_.on() && due_for_ > kWaitUnderBudget)) return false;
  return port_.may_wait() && !arena_.awaits_frees();
}

ArenaExchange::Outcome ArenaExchange::exchange() {
  plans_.cancel();
  const std::vector<Plan> active = plans_.in_use().plans;
  arena_.pause();
  const allocator::ServeCounts served = arena_.allocator().counts();
  is_another_ = arena_.shut_out() && port_.may_wait() && arena_.part_with();
  if (is_another_) facts_.note_move(served);
  if (!is_another_ && !arena_.allocator().replace_plans(active)) return Outcome::kFailed;
  if (is_another_ && !arena_.map_for(active)) return Outcome::kFailed;
  room_.release_upstream();  // what it served instead of the arena
  return Outcome::kExchanged;
}

void ArenaExchange::resume() {
  guard_.restart(/*old_tensors_are_gone=*/true);
  arena_.resume();
  if (is_another_) note(1, "tensors outlive their places in the arena: the plan moves to a new arena");
}

}  // namespace stowage::session
