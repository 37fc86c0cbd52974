// The arena's exchange, where tensors outstay their places in it (outstayed_watch.h): the plan moves to a new
// arena, and the old one keeps the segments that they lie in and nothing else.
#include <algorithm>
#include <string>
#include <vector>

#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

// Places of what an iteration hands on to the next one, which will be gone soon.
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

// At an iteration's end. `reserved`: by arena and upstream together in it; `clean`: all of it was planned.
void Session::State::watch_outstayed(bool clean, Bytes reserved) {
  if (clean) reserved_clean = reserved;
  const auto in_use = static_cast<std::size_t>(allocator::Miss::kSlotInUse);
  if (!outstayed.is_due(arena.allocator().counts().misses[in_use]) || !may_exchange()) return;
  const Bytes pinned = arena.allocator().pinned_bytes(places_of_crossing(plans.in_use()));
  const Bytes needed = std::max(reserved_clean, arena.mapped() + arena.outside_bytes(port.upstream_use()));
  const std::optional<Bytes> most = guard.most();
  if (most && needed + pinned > std::max(*most, reserved)) {
    return note(2, "tensors that outlive their places pin " + std::to_string(pinned.value()) +
                       " bytes of the arena: the plan stays in it");
  }
  exchange_arena();
}

// Not under a budget, where the arena is counted as a whole and a schedule may follow its addresses.
bool Session::State::may_exchange() const {
  return !budget.on() && !plans.makes_further() && !plans.makes_lower() && port.may_wait() &&
         !hot.uses.any_in_arena();
}

void Session::State::exchange_arena() {
  const std::vector<Plan> active = plans.in_use();
  arena.pause();
  const bool parted = arena.shut_out() && port.may_wait() && arena.part_with();
  if (!parted && !arena.allocator().replace_plans(active)) return back_to_recording();
  if (parted && !arena.map_for(active)) return back_to_recording();
  room.release_upstream();  // what it served in the arena's stead
  begin_learning();
  guard.restart(/*old_tensors_are_gone=*/true);
  arena.resume();
  if (parted) note(1, "tensors outlive their places in the arena: the plan moves to a new arena");
}

}  // namespace stowage::session
