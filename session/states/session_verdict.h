// What the parts of a session say to a mark: whether the session is to change its state, and why. The
// conductor alone changes it.
//
// Thread safety: a value.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "session/states/states.h"

namespace stowage::session {

/// Made without arguments: everything stays as it is.
struct [[nodiscard]] SessionVerdict {
  std::optional<SessionState> to;
  /// For kOff and kRescuing the reason in the report; empty for kRescuing: until iterations are calm again.
  std::string why;
  bool releases_cache = false;  ///< once the state has changed, upstream's cache goes back to the device

  [[nodiscard]] bool changes() const { return to.has_value(); }
};

/// The job does not follow its plan, or had better not: it is recorded again.
inline SessionVerdict leave_plan() { return {SessionState::kRecording, "the plan was left"}; }

}  // namespace stowage::session
