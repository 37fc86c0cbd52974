#include "planner/kinds/arrangement.h"

#include <algorithm>
#include <map>

namespace stowage::planner {
namespace {

const Plan* find_plan(const std::vector<Plan>& plans, std::uint64_t fingerprint, std::size_t number) {
  for (const Plan& plan : plans) {
    if (plan.fingerprint == fingerprint && number-- == 0) return &plan;
  }
  return nullptr;
}

bool take_over(const Plan& plan, const Kind& kind, std::vector<Place>& places) {
  if (plan.entries.size() != places.size()) return false;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const LifeClass life = class_of(kind.allocations[k]);
    const PlanEntry& entry = plan.entries[k];
    if (life == LifeClass::kUpstream || entry.offset == kUpstream) continue;
    places[k].offset = entry.offset;
    if (life == LifeClass::kTwoSlots && entry.spare != kUpstream) places[k].spare = entry.spare;
  }
  return true;
}

Plan plan_of(const Kind& kind, const std::vector<Place>& places, Bytes bound) {
  Plan plan;
  plan.fingerprint = kind.fingerprint;
  for (std::size_t k = 0; k < kind.allocations.size(); ++k) {
    const Allocation& allocation = kind.allocations[k];
    const Place& place = places[k];
    plan.entries.push_back({allocation.rounded, allocation.stream, place.offset.value_or(kUpstream),
                            place.spare.value_or(kUpstream), allocation.crosses, allocation.death});
    for (const std::optional<Offset>& offset : {place.offset, place.spare}) {
      if (offset) plan.height = std::max(plan.height, Bytes((*offset + allocation.rounded).value()));
    }
  }
  plan.lower_bound = std::min(bound, plan.height);
  plan.proved_optimal = plan.lower_bound == plan.height;
  return plan;
}

}  // namespace

std::optional<Offset>& slot_in(Places& places, const JointSlot& slot) {
  Place& place = places[slot.kind][slot.allocation];
  return slot.spare ? place.spare : place.offset;
}

Places nothing_placed(const Kinds& kinds) {
  Places places;
  for (const Kind& kind : kinds.kinds) places.emplace_back(kind.allocations.size());
  return places;
}

std::vector<bool> take_over(const std::vector<Plan>& plans, const Kinds& kinds, Places& places) {
  std::vector<bool> members(kinds.kinds.size(), false);
  std::map<std::uint64_t, std::size_t> seen;
  for (std::size_t kind = 0; kind < kinds.kinds.size(); ++kind) {
    const std::uint64_t fingerprint = kinds.kinds[kind].fingerprint;
    const Plan* const plan = find_plan(plans, fingerprint, seen[fingerprint]++);
    if (plan != nullptr) members[kind] = take_over(*plan, kinds.kinds[kind], places[kind]);
  }
  return members;
}

void put_in(const JointProblem& part, const placement::Solution& solution, Arrangement& made) {
  made.height = Bytes(0);
  for (std::size_t i = 0; i < part.slots.size(); ++i) {
    slot_in(made.places, part.slots[i]) = solution.offsets[i];
    made.height = std::max(made.height, Bytes((solution.offsets[i] + part.problem.items[i].size).value()));
  }
  if (made.technique.empty()) made.technique = solution.technique;
}

JointPlan plans_of(const Kinds& kinds, const Arrangement& arrangement, DeviceKind device, Bytes bound) {
  JointPlan made;
  made.history = kinds.history;
  const auto count = static_cast<std::uint32_t>(kinds.kinds.size());
  for (std::uint32_t kind = 0; kind < count; ++kind) {
    const Bytes own = count == 1 ? bound : own_bound(kinds, kind);
    made.plans.push_back(plan_of(kinds.kinds[kind], arrangement.places[kind], own));
    made.plans.back().device = device;
    made.plans.back().technique = arrangement.technique;
    made.height = std::max(made.height, made.plans.back().height);
  }
  made.lower_bound = std::min(bound, made.height);
  return made;
}

}  // namespace stowage::planner
