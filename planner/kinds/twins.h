// Kinds in whose iterations a buffer is alive until after its successor is born: a batch that the loop's
// variable keeps until the next one is there, say.
//
// Such a buffer needs two places, in turn. With one plan for all iterations of the kind both are taken all
// the time, though only one is in use for most of it. So the kind gets a *twin*: the same requests at other
// places. The two take turns, each has the buffer in one place, and gives the other place to whatever is
// alive in between. That is the unrolling by two of modulo scheduling (Lam, PLDI 1988).
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// Bytes of `kind` that one plan would hold twice.
[[nodiscard]] Bytes held_twice(const Kind& kind);

/// `kinds` with a twin directly behind each kind that is `wanted` (by kind); the two take turns in the
/// history and in the transitions. Nothing in the result needs two slots in a kind that has a twin.
[[nodiscard]] Kinds with_twins(const Kinds& kinds, const std::vector<bool>& wanted);

/// The kind beside `kind` with the same fingerprint, if there is one.
[[nodiscard]] std::optional<std::uint32_t> twin_of(const Kinds& kinds, std::uint32_t kind);

}  // namespace stowage::planner
