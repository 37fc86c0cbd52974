// Plans kept in a folder between runs, one file per kind of iteration: <device>-<fingerprint>.stowplan.
//
// A plan found there is used only after it was read in full, checked, and compared request by request with
// the iteration it is said to be for. Files that are damaged or not ours are left as they are. Thread safety:
// files are replaced in one step, so several processes may share a folder.
#pragma once

#include <optional>
#include <string>

#include "core/plan.h"
#include "core/trace.h"
#include "session/plans/windows.h"

namespace stowage::session {

/// The plan for `window` of `trace`, nothing if the folder has none. Error: the file exists but cannot be
/// used; the message names it.
Result<std::optional<Plan>> find_plan(const std::string& folder, const Trace& trace, const Window& window);

/// Keeps `plan`, unless its file exists: a usable one would have been used. Error: kIo.
Status store_plan(const std::string& folder, const TraceInfo& info, const Plan& plan);

/// Removes what store_plan kept for the iterations of `plan`, which turned out not to be worth following.
void forget_plan(const std::string& folder, const TraceInfo& info, const Plan& plan);

}  // namespace stowage::session
