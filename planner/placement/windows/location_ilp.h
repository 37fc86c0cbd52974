// A handful of buffers placed exactly by integer programming: the location part of MODeL (Steiner et al.,
// 2022), solved by lp_solve.
//
// An address for each buffer; for each pair that lives at one time a binary that says which one lies above;
// for each buffer a choice among the stretches of addresses that its fixed neighbours leave it. It is exact
// up to about 16 buffers in well under a second and hopeless beyond 20, so it serves windows (window.h) and
// checks the other solvers. This is the only file that knows lp_solve.
//
// Thread safety: reentrant; each call has a model of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

/// A buffer to be placed.
struct IlpBuffer {
  std::uint64_t size = 0;       ///< bytes, > 0
  std::uint64_t alignment = 1;  ///< bytes
  /// Where it may lie, ascending, disjoint; all of [0, capacity) if there are none.
  std::vector<AddressRange> allowed;
};

struct IlpProblem {
  std::vector<IlpBuffer> buffers;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> meets;  ///< pairs that share no byte
  std::uint64_t floor = 0;                                     ///< bytes: the height is never less
  std::uint64_t capacity = 0;                                  ///< bytes: the height is never more
};

struct IlpAnswer {
  enum class Kind { kOptimal, kInfeasible, kUnknown };
  Kind kind = Kind::kUnknown;          ///< kUnknown: stopped, or numbers that lp_solve cannot be trusted with
  std::vector<std::uint64_t> offsets;  ///< by buffer, of least height; empty unless kOptimal
  std::uint64_t height = 0;            ///< bytes
  std::uint64_t steps = 0;             ///< taken
};

/// Solves it in at most `steps` steps of lp_solve (the times that it asks whether to continue: the same on
/// every machine, a few microseconds each), looking at the limits' clock and stop token at each; their work
/// limit is not counted. Never fails: what cannot be solved is kUnknown.
IlpAnswer solve_location_ilp(const IlpProblem& problem, const Limits& limits, std::uint64_t steps);

}  // namespace stowage::planner::placement
