// How many ops of a trace each source timed.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/activity.h"
#include "core/trace.h"

namespace stowage {

/// By TimeSource.
using TimedOps = std::array<std::uint64_t, static_cast<std::size_t>(kLastTimeSource) + 1>;

/// Ops that call others are left out: their time is that of the ops inside.
inline TimedOps count_timed_ops(const std::vector<Op>& ops) {
  TimedOps counts{};
  for (const Op& op : ops)
    if ((op.flags & kOpComposite) == 0) ++counts[static_cast<std::size_t>(op.timed_by)];
  return counts;
}

}  // namespace stowage
