#include "session/planned/arena_exchange.h"

#include <algorithm>
#include <optional>
#include <string>

#include "session/settings/notice.h"

namespace stowage::session {

ArenaExchange::Outcome ArenaExchange::on_iteration(bool clean, Bytes reserved) {
  if (clean) reserved_clean_ = reserved;
  const auto in_use = static_cast<std::size_t>(allocator::Miss::kSlotInUse);
  if (!outstayed_.is_due(arena_.allocator().counts().misses[in_use]) || !may_exchange())
    return Outcome::kNone;
  const Bytes pinned = arena_.allocator().pinned_bytes(plans_.crossing_offsets());
  const Bytes needed =
      std::max(reserved_clean_, arena_.mapped() + arena_.outside_bytes(port_.upstream_use()));
  const std::optional<Bytes> most = guard_.most();
  if (!most || needed + pinned <= std::max(*most, reserved)) return exchange();
  note(2, "tensors that outlive their places pin " + std::to_string(pinned.value()) +
              " bytes of the arena: the plan stays in it");
  return Outcome::kNone;
}

bool ArenaExchange::may_exchange() const {
  return !budget_.on() && !plans_.makes_anew() && !plans_.makes_lower() && port_.may_wait() &&
         !arena_.awaits_frees();
}

ArenaExchange::Outcome ArenaExchange::exchange() {
  const std::vector<Plan> active = plans_.in_use().plans;
  arena_.pause();
  is_another_ = arena_.shut_out() && port_.may_wait() && arena_.part_with();
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
