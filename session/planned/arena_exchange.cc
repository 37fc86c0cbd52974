#include "session/planned/arena_exchange.h"

#include <algorithm>
#include <optional>
#include <string>

#include "session/settings/notice.h"

namespace stowage::session {
namespace {

// Places of buffers that an iteration passes on to the next one, which will be freed soon.
std::vector<std::uint64_t> places_of_crossing(const std::vector<Plan>& plans) {
  std::vector<std::uint64_t> offsets;
  for (const Plan& plan : plans) {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.crosses && entry.offset != kUpstream) offsets.push_back(entry.offset.value());
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

}  // namespace

ArenaExchange::Outcome ArenaExchange::on_iteration(bool clean, Bytes reserved) {
  if (clean) reserved_clean_ = reserved;
  const auto in_use = static_cast<std::size_t>(allocator::Miss::kSlotInUse);
  if (!outstayed_.is_due(arena_.allocator().counts().misses[in_use]) || !may_exchange())
    return Outcome::kNone;
  const Bytes pinned = arena_.allocator().pinned_bytes(places_of_crossing(plans_.in_use()));
  const Bytes needed =
      std::max(reserved_clean_, arena_.mapped() + arena_.outside_bytes(port_.upstream_use()));
  const std::optional<Bytes> most = guard_.most();
  if (!most || needed + pinned <= std::max(*most, reserved)) return exchange();
  note(2, "tensors that outlive their places pin " + std::to_string(pinned.value()) +
              " bytes of the arena: the plan stays in it");
  return Outcome::kNone;
}

bool ArenaExchange::may_exchange() const {
  return !budget_.on() && !plans_.makes_further() && !plans_.makes_lower() && port_.may_wait() &&
         !arena_.awaits_frees();
}

ArenaExchange::Outcome ArenaExchange::exchange() {
  const std::vector<Plan> active = plans_.in_use();
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
