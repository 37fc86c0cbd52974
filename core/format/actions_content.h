// How a schedule's actions are told to another process: to the other ranks, and to the job's next run. The
// actions alone, since all else follows from the receiver's own log.
//
// 4 bytes "SSC1", a 4-byte count, then for each action its kind (1), op (4) and entry (4); numbers are
// little-endian. What is read is checked for its form here, and for its sense by
// planner/schedule/received_schedule.h.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/step_log.h"

namespace stowage {

[[nodiscard]] std::vector<std::byte> encode_actions(const std::vector<Action>& actions);
/// Nothing if `value` is none that encode_actions() may return.
[[nodiscard]] std::optional<std::vector<Action>> decode_actions(std::span<const std::byte> value);

}  // namespace stowage
