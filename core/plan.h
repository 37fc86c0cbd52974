// Where every allocation of one kind of iteration lies. The other noun of Stowage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/result.h"
#include "core/trace.h"
#include "core/units.h"

namespace stowage {

/// "Not in the arena": the request is served by PyTorch's own allocator, on purpose.
inline constexpr Offset kUpstream = Offset::max();

/// The place of the iteration's next allocation. Entries stand in order of birth.
struct PlanEntry {
  Bytes rounded{0};
  StreamId stream{0};
  Offset offset = kUpstream;
  Offset spare =
      kUpstream;  ///< a second slot, for a buffer that overlaps its own successor in the next iteration
  bool crosses = false;  ///< it is alive when the iteration ends
  /// The entry before which it is freed; the number of entries if it crosses, or if that is not known. Of one
  /// that crosses, kUnknownDeath: it lasts, and no other entry of any plan has a byte of its place.
  std::uint32_t death = kUnknownDeath;
  static constexpr std::uint32_t kUnknownDeath = ~std::uint32_t{0};
  [[nodiscard]] bool lasts() const { return crosses && offset != kUpstream && death == kUnknownDeath; }
  friend bool operator==(const PlanEntry&, const PlanEntry&) = default;
};

struct Plan {
  DeviceKind device = DeviceKind::kCpu;
  std::uint64_t fingerprint = 0;  ///< of the iteration it is for
  std::vector<PlanEntry> entries;
  std::vector<std::uint32_t>
      inner_marks;                ///< entries that follow a mark inside the iteration (two optimizers, …)
  Bytes height{0};                ///< bytes of arena: max of offset + rounded, spares included
  Bytes lower_bound{0};           ///< no placement of these lifetimes can be lower
  bool proved_optimal = false;    ///< height == lower_bound or a search proved it
  std::string technique;          ///< the heuristic or search that found it
  std::uint64_t planning_ns = 0;  ///< how long it took to make

  /// Checks offsets, sizes, orders and indices (not lifetimes: the validator of placements does). A plan from
  /// a file is used only after this. Error: kInvalidPlan, naming the first rule that is broken. O(entries).
  [[nodiscard]] Status validate() const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Addresses of an arena that are one stream's for as long as the arena lives: [begin, end).
struct StreamRange {
  StreamId stream{0};
  Offset begin{0};
  Offset end{0};
  friend bool operator==(const StreamRange&, const StreamRange&) = default;
};

/// The plans of all kinds of iteration of a job, placed together: whatever may be alive at one time is apart.
struct JointPlan {
  std::vector<Plan> plans;             ///< by kind
  std::vector<std::uint32_t> history;  ///< kinds of the latest iterations, oldest first: what may come next
  Bytes height{0};                     ///< of the highest plan
  Bytes lower_bound{0};  ///< live bytes at their most over all kinds and what they leave to each other
  /// The first so many plans are for iterations at a job's beginning that do not come again, in this order;
  /// `history` then holds all iterations from the first one on. 0: the plans are for a job that is under way.
  std::uint32_t opening = 0;
  friend bool operator==(const JointPlan&, const JointPlan&) = default;
};

/// How many iterations there are in `history` up to the last one that does not come again; the first
/// `opening` plans are for those.
[[nodiscard]] std::size_t opening_length(const std::vector<std::uint32_t>& history, std::uint32_t opening);

/// Height of the highest plan; 0: there is none.
[[nodiscard]] Bytes highest(const std::vector<Plan>& plans);

/// Bytes that the last iteration of `plans.history` passed on (without one: of the first plan) and that the
/// next one finds in the arena. A job that switches to its plans frees them elsewhere. Requires: a plan.
[[nodiscard]] Bytes handed_on(const JointPlan& plans);
/// Bytes that an iteration of any of the kinds passes on at least. Requires: a plan.
[[nodiscard]] Bytes least_handed_on(const JointPlan& plans);

}  // namespace stowage
