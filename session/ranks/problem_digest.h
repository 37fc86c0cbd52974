// Under which name ranks share a plan or a schedule: what it was asked for, and nothing that differs between
// ranks which do the same.
//
// In it are the kinds of iterations by their requests, which of them follow each other, the plans in use,
// tenants, limits. Not in it: how long buffers live, which differs a little from rank to rank where a
// communication library's threads free them (a plan is checked against the lifetimes of its receiver); what
// kinds came last (each rank keeps its own history); and the number of threads, which never changes a plan.
// Of a logged iteration it is the ops by their shapes, what they make, and about the budget; not how long ops
// took.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/step_log.h"
#include "planner/joint_planner.h"

namespace stowage::session {

/// Raised when ranks of older versions must not find what this one shares.
inline constexpr unsigned kSharedVersion = 1;

[[nodiscard]] std::string digest_of(const planner::Kinds& kinds, const planner::JointOptions& options);
/// Requires: the log is valid.
[[nodiscard]] std::string digest_of(const StepLog& log, Bytes budget);

}  // namespace stowage::session
