// Which other plan an iteration may follow because a place is in use.
#include <vector>

#include "allocator/planned_allocator_state.h"

namespace stowage::allocator {

// Whether what the iteration made so far and still holds lies where `plan` has it, too. Where it does not,
// the iteration would be half one plan's and half the other's, and so would be what it leaves to the next
// one.
bool PlannedAllocator::State::may_follow(std::uint32_t plan, Position at) const {
  if (!cursor.may_follow(plan, at)) return false;
  const std::vector<PlanEntry>&mine = plans[at.plan].entries, &other = plans[plan].entries;
  for (std::uint32_t i = 0; i < at.entry; ++i) {
    const bool held = mine[i].crosses || mine[i].death > at.entry;
    if (held && mine[i].offset != other[i].offset) return false;
  }
  return true;
}

// A slot that is in use is also a sign that the iteration is another plan's, which begins alike but keeps
// more.
void* PlannedAllocator::State::take_by_another(Position at, Bytes bytes, bool twin) {
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan) {
    if (twin != (cursor.twin_of(plan) == at.plan) || !may_follow(plan, at)) continue;
    if (void* const address = take({plan, at.entry}, bytes)) {
      cursor.follow(plan);
      follow_cursor();
      return address;
    }
  }
  return nullptr;
}

// What that plan keeps for longer than an iteration may be upstream's in it.
bool PlannedAllocator::State::is_upstreams_by_another(Position at) {
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan) {
    if (plans[plan].entries.size() <= at.entry || plans[plan].entries[at.entry].offset != kUpstream) continue;
    if (!may_follow(plan, at)) continue;
    cursor.follow(plan);
    follow_cursor();
    return true;
  }
  return false;
}

}  // namespace stowage::allocator
