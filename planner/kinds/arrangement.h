// Where the slots of all kinds lie: from plans to places and back.
//
// Thread safety: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan.h"
#include "planner/kinds/joint_problem.h"
#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// Of one allocation; empty where it has no slot yet, or needs none.
struct Place {
  std::optional<Offset> offset;
  std::optional<Offset> spare;
};
using Places = std::vector<std::vector<Place>>;  // by kind and allocation

struct Arrangement {
  Places places;
  Bytes height{0};
  std::string technique;  ///< what placed the first ones
};

[[nodiscard]] std::optional<Offset>& slot_in(Places& places, const JointSlot& slot);

[[nodiscard]] Places nothing_placed(const Kinds& kinds);

/// Puts in the slots of the kinds that have one of the plans; says which these are. As many of its slots as
/// the allocations need by what is known now. A kind and its twin have one fingerprint, and their plans stand
/// in this order.
[[nodiscard]] std::vector<bool> take_over(const std::vector<Plan>& plans, const Kinds& kinds, Places& places);

/// Puts in the offsets of a problem's solution.
void put_in(const JointProblem& part, const placement::Solution& solution, Arrangement& made);

/// A plan for each kind. `bound`: of all of them together.
[[nodiscard]] JointPlan plans_of(const Kinds& kinds, const Arrangement& arrangement, DeviceKind device,
                                 Bytes bound);

}  // namespace stowage::planner
