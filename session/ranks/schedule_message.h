// How one rank tells the others its schedule: the actions alone, since all else follows from a rank's own
// log.
//
// 4 bytes "SSC1", a 4-byte count, then for each action its kind (1), op (4) and entry (4); numbers are
// little-endian. What is read is checked for its form here, and for its sense by
// planner/schedule/received_schedule.h.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "core/step_log.h"
#include "session/ports/rank_group.h"

namespace stowage::session {

[[nodiscard]] RankStore::Value encode_actions(const std::vector<Action>& actions);
/// Nothing if `value` is none that encode_actions() may return.
[[nodiscard]] std::optional<std::vector<Action>> decode_actions(const RankStore::Value& value);

}  // namespace stowage::session
