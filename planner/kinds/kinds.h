// The automaton that a job is: its kinds of iterations, how long what each of them allocates lives, and what
// is alive when one of them follows another. The planner places all of them together.
//
// Time inside an iteration is counted in allocation ordinals: an allocation is born at its own ordinal, and
// its death is the ordinal of the first allocation after its completed free (see planner/lifetimes.h for
// why). What is alive at an iteration's end *crosses*. How long it lives after that depends on what follows;
// a transition says so for each pair of kinds that were seen one after the other.
//
// Thread safety: plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"

namespace stowage::planner {

/// One allocation of a kind of iteration; the most that was seen of all its instances.
struct Allocation {
  Bytes rounded{0};
  StreamId stream{0};
  std::uint32_t death = 0;    ///< ordinal in its own iteration; the number of allocations if it crosses
  bool crosses = false;       ///< alive at its iteration's end
  bool ended = false;         ///< an instance was seen freed, in its own iteration or a later one
  std::uint32_t at_once = 0;  ///< most instances that were alive at one time, at least 1
  std::uint32_t outlived =
      0;               ///< most iterations' ends that an instance lived through and was then seen freed
  bool spans = false;  ///< an instance lived through a whole later iteration of its kind

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// One sort of iteration: from one mark to the next.
struct Kind {
  std::uint64_t fingerprint = 0;  ///< core/trace.h
  std::vector<Allocation> allocations;
  friend bool operator==(const Kind&, const Kind&) = default;
};

/// An allocation of an earlier iteration that is alive when a later one begins.
struct Carried {
  std::uint32_t kind = 0;
  std::uint32_t allocation = 0;
  std::uint32_t death = 0;  ///< ordinal in the later one; its number of allocations if it outlives it
  friend bool operator==(const Carried&, const Carried&) = default;
};

/// `to` came directly after `from`.
struct Transition {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::vector<Carried> carried;  ///< by kind and allocation; of any earlier iteration, not of `from` alone
  friend bool operator==(const Transition&, const Transition&) = default;
};

struct Kinds {
  std::vector<Kind> kinds;
  std::vector<Transition> transitions;  ///< by (from, to)
  std::vector<std::uint32_t> history;   ///< kinds of the latest iterations, oldest first
  friend bool operator==(const Kinds&, const Kinds&) = default;
};

/// The end of every lifetime of `kind`: its number of allocations.
[[nodiscard]] inline std::uint32_t length_of(const Kind& kind) {
  return static_cast<std::uint32_t>(kind.allocations.size());
}

}  // namespace stowage::planner
