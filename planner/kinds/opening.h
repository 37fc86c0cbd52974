// What a job begins with: iterations that come once, and what it repeats between them. The model is made
// there, the state of each optimizer, and perhaps what a first iteration does differently.
//
// They come once in a run, so nobody plans them while it runs. But the next run of the job will do the same.
// So they are planned for it, together with all kinds that are known by then. What is born in them and was
// never seen freed *lasts* (parameters, buffers, optimizer state): it gets a place that nothing else ever
// has, on top of all others, and so it raises the bound by as much as the height.
//
// Thread safety: pure functions and plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan.h"
#include "core/trace.h"
#include "planner/kinds/kind_book.h"

namespace stowage::planner {

struct Opening {
  static constexpr std::size_t kMostIterations = 16;

  std::vector<std::uint64_t> iterations;  ///< fingerprints, from the job's first one on, and what followed
  std::vector<std::uint64_t> own;         ///< those that come once, in order
  MarkSource marks = MarkSource::kOptimizer;
};

/// The opening of a job that `trace` shows from its first allocation on; `book` knows the kinds that it
/// repeats. The last iteration that the book does not know, of the first kMostIterations, ends it. Nothing if
/// there is none, if what the book knows does not follow it, or if nothing but the allocations themselves
/// marks iterations: such marks may come elsewhere in the next run.
[[nodiscard]] std::optional<Opening> find_opening(const Trace& trace, const KindBook& book);

/// What plans for the next run are made of.
struct NextKinds {
  Kinds kinds;  ///< the opening's own are the last, in order; `history` is all of Opening::iterations
  std::uint32_t opening = 0;  ///< how many its own are
};

/// Brings `kinds` into that order. Requires: all of Opening::iterations are among them.
[[nodiscard]] NextKinds with_opening_last(const Kinds& kinds, const Opening& opening);

/// The plans that the next run begins with. `made`: for the kinds of `all`, in their order; `bound`: what no
/// placement of those that are not the opening's is below. O(allocations).
[[nodiscard]] JointPlan begin_with_opening(JointPlan made, const NextKinds& all, Bytes bound);

/// Bytes of what lasts by `plans`.
[[nodiscard]] Bytes lasting_bytes(const JointPlan& plans);

}  // namespace stowage::planner
