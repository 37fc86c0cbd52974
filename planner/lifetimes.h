// From a trace's steady window to a cyclic placement problem and the plan's entries without offsets.
//
// Time here is counted in *allocation ordinals* of the window: allocation k is born at k, and its lifetime is
// [k, j) with j the ordinal of the first allocation after its completed free. That is exactly what the
// allocator's cursor sees at run time, so a plan holds as long as frees keep their order relative to
// allocations; ops and frees that shift among themselves, or windows of different lengths in ticks, change
// nothing. The period is the number of allocations.
//
// The k-th allocation of the window before the steady one is the same buffer one iteration earlier. Two
// instances of each buffer show what a single window cannot: whether it crosses the iteration boundary, and
// where it then dies.
//
//   both die in their own window             [k, max of both deaths)
//   crosses, dies at or before ordinal k     cyclic [k, P) and [0, d): its successor may take the same place
//   crosses, dies after successor's birth    two slots, used in turn, each held for the whole period
//   one dies inside, the other is alive      cyclic, held for the whole period: until its successor is born
//     at the steady window's end
//   first instance never dies                upstream: persistent or accumulating
//   used on other streams                    as above, but never freed before the window's end: when the
//                                            free completes depends on the device
//
// A buffer of which one instance crosses counts as crossing. Buffers born before the windows are not planned.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "core/result.h"
#include "core/trace.h"
#include "planner/placement/problem/problem.h"

namespace stowage::planner {

enum class LifeClass : std::uint8_t {
  kTransient,  ///< one slot, within the iteration
  kCyclic,     ///< one slot, across the boundary
  kTwoSlots,   ///< overlaps its own successor: PlanEntry::offset and PlanEntry::spare
  kUpstream,   ///< persistent, accumulating or of no bytes: not in the arena
};

/// Which slot of which entry an item of the problem stands for.
struct Slot {
  std::uint32_t entry = 0;
  bool spare = false;
};

struct Lifetimes {
  placement::Problem problem;      ///< period == entries.size()
  std::vector<Slot> slots;         ///< by item of the problem
  std::vector<PlanEntry> entries;  ///< in order of birth; all offsets still kUpstream
  std::vector<LifeClass> classes;  ///< by entry
  std::vector<std::uint32_t>
      inner_marks;  ///< ordinals of the first allocation after each mark inside the window
};

/// Errors: kUnplannable when events were dropped, there is no steady window, it has no allocations, or its
/// allocations are not those of the window before.
Result<Lifetimes> find_lifetimes(const Trace& trace);

}  // namespace stowage::planner
