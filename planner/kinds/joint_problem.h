// From the kinds of iterations of a job to one placement problem: buffers of kinds that never overlap in time
// may share addresses, survivors of one kind conflict with what follows it.
//
// The time line holds each kind's iteration once, one after the other. What a transition carries into a kind
// is alive at the beginning of that kind's stretch. Where several transitions lead to a kind, the one that
// carries most has that place; each of the others gets a stretch of its own, in which the kind's first
// allocations are repeated for as long as anything carried lives. An allocation is one item with gaps: it has
// one address in all of these stretches. So the live bytes at their most are exact over all kinds and
// transitions, and no placement can be lower.
//
// One kind that only follows itself makes a cyclic problem, as planner/lifetimes.h describes it.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/kinds/kinds.h"
#include "planner/lifetimes.h"
#include "planner/placement/problem/problem.h"

namespace stowage::planner {

/// A block of the arena that outlives iterations and is of no kind.
struct Tenant {
  Offset offset{0};
  Bytes rounded{0};
  StreamId stream{0};
  friend bool operator==(const Tenant&, const Tenant&) = default;
};

/// The slot that an item of the problem stands for.
struct JointSlot {
  std::uint32_t kind = 0;
  std::uint32_t allocation = 0;
  bool spare = false;
};

struct JointProblem {
  placement::Problem problem;
  std::vector<JointSlot> slots;  ///< by item; the tenants' items stand behind
};

/// Where an allocation may lie. kUpstream: none of its instances was seen freed, more than two are alive at
/// one time, or two of them for longer than an iteration, in which both slots would be held for nothing.
[[nodiscard]] LifeClass class_of(const Allocation& allocation);

/// The problem of the kinds with `members[kind]`, as if there were no others. Requires: members.size() is
/// that of the kinds, at least one is a member, tenants are disjoint. O(n log n) in allocations and carried
/// ones.
[[nodiscard]] JointProblem joint_problem(const Kinds& kinds, const std::vector<bool>& members,
                                         const std::vector<Tenant>& tenants);

/// The most bytes of one kind that are alive at one time, as if there were no others. O(n log n).
[[nodiscard]] Bytes own_bound(const Kinds& kinds, std::uint32_t kind);

}  // namespace stowage::planner
