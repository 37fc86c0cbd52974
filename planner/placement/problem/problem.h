// Dynamic storage allocation as plain data: items with lifetimes and sizes in, offsets out.
//
// Why: every placer, the validator and the tests speak of this and of nothing else, so that each can be used
// alone. Time is an integer axis of the caller's choice. The planner uses *allocation ordinals*
// (planner/lifetimes.h); problems from files keep their own ticks. Nothing here depends on how large
// or how sparse the times are.
//
// A problem may be cyclic: with a period P > 0 time is a circle of length P, the steady state of a job that
// repeats. A lifetime [birth, death) with death > P wraps round: it occupies [birth, P) and [0, death - P).
//
// Thread safety: values. Invariants: check_problem() says ok; all functions of this folder require it unless
// they say otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace stowage::planner::placement {

/// What must be placed. An item of size 0 or with birth == death occupies nothing.
struct Item {
  std::uint64_t birth = 0;
  std::uint64_t death = 0;      ///< half-open: at `death` the bytes may be another's
  Bytes size{0};                ///< any number of bytes; a plan's are multiples of kGranule
  Bytes alignment = kGranule;   ///< the offset is a multiple of this; at least 1, need not be a power of two
  std::optional<Offset> fixed;  ///< the only offset that will do
  std::uint32_t stream_class = 0;  ///< items of different classes share no address, whenever they live
};

/// True if the item needs an address at all.
[[nodiscard]] constexpr bool occupies(const Item& item) {
  return item.size.value() != 0 && item.birth != item.death;
}

/// Addresses that only items of one class may use at any time.
struct Region {
  std::uint32_t stream_class = 0;
  Offset begin{0};
  Bytes size{0};
};

/// A stretch of an item's life, [begin, end), in which it needs only the bytes [lower, upper) of its own, or
/// none of them when the two are equal. On the unwrapped axis of its lifetime: birth <= begin < end <= death.
/// Source: the gaps of minimalloc (Moffitt, ASPLOS 2023).
struct Gap {
  std::uint32_t item = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Bytes lower{0};
  Bytes upper{0};
};

struct Problem {
  std::vector<Item> items;
  std::uint64_t period = 0;  ///< length of the time circle; 0: time is a line
  std::vector<Gap> gaps{};   ///< by item, then by begin; those of one item are disjoint
  /// What the height may be at most: a solver stops at the first placement that fits. Empty: the least height
  /// is sought.
  std::optional<Bytes> capacity{};
  /// Regions of different classes are disjoint; no item lies in another class's.
  std::vector<Region> regions{};
};

/// Offsets for all items of a problem, and what is known about how good they are.
struct Solution {
  std::vector<Offset> offsets;  ///< by item
  Bytes height{0};              ///< max over items of offset + size
  Bytes lower_bound{0};         ///< no placement is lower
  bool proved_optimal = false;  ///< height == lower_bound
  std::string technique;        ///< what found it, such as "first-fit/size"
  std::uint64_t work = 0;       ///< placed items looked at, over all techniques (see work.h)
  /// When the problem's capacity is proved too small: a few items that do not fit it even alone, ascending.
  /// Empty otherwise.
  std::vector<std::uint32_t> conflict{};
};

/// Largest sum of sizes, alignments and fixed offsets that is accepted, so that no sum of offsets can
/// overflow.
inline constexpr std::uint64_t kMaxTotalBytes = std::uint64_t{1} << 62;

/// Errors: kInvalidArgument with the item's index for a death before its birth, a lifetime longer than the
/// period, a birth outside it, alignment 0, a misaligned fixed offset, gaps out of order or outside their
/// item, or sums beyond kMaxTotalBytes. Overlapping fixed items are found by the solver, not here.
[[nodiscard]] Status check_problem(const Problem& problem);

/// (time, change) of the live bytes of one stream class within a period, in no order; at one time the deaths
/// (negative) sort before the births.
using LiveChanges = std::vector<std::pair<std::uint64_t, std::int64_t>>;
[[nodiscard]] LiveChanges live_changes(const Problem& problem, std::uint32_t stream_class);

/// Max over times of the live bytes of one stream class, wrapped lifetimes included. O(n log n).
[[nodiscard]] Bytes max_live(const Problem& problem, std::uint32_t stream_class);

/// No placement is lower than this: the sum over stream classes of max_live, or the highest end of a fixed
/// item, or the largest item, whichever is most.
[[nodiscard]] Bytes lower_bound(const Problem& problem);

/// The highest end of an item that lies at its offset; what occupies nothing counts too. Requires: as many
/// offsets as items.
[[nodiscard]] Bytes height_of(const Problem& problem, const std::vector<Offset>& offsets);

/// The stream classes that occur, ascending.
[[nodiscard]] std::vector<std::uint32_t> stream_classes(const Problem& problem);

}  // namespace stowage::planner::placement
