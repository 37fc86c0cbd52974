// A part's verdict at a mark: whether the session should change its state, and why. Only the conductor
// changes it.
//
// Thread safety: a value.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "session/states/states.h"

namespace stowage::session {

/// Default-constructed: nothing changes.
struct [[nodiscard]] SessionVerdict {
  std::optional<SessionState> to;
  /// For kOff and kRescuing the reason in the report; kRescuing without one ends once evictions stop.
  std::string why;
  bool releases_cache = false;  ///< after the change of state, give upstream's cache back to the device

  [[nodiscard]] bool changes() const { return to.has_value(); }
};

/// The job does not follow its plan, or should not: record it again.
inline SessionVerdict leave_plan() { return {SessionState::kRecording, "the plan was left"}; }

}  // namespace stowage::session
