// A schedule as it is kept between runs of a job under a budget: its actions, the ops they are for, and all
// that they depend on beside.
//
// Only the actions and the ops' shapes are kept. What a schedule costs and holds is counted anew by each run,
// on its own log, since measured times and limits differ a little. A file's name holds a hash of the context
// and either of the ops or of what the job is. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kept_plans.h"
#include "core/step_log.h"

namespace stowage {

/// Raised when schedules of before must not be used any more: it is part of every name.
inline constexpr std::uint32_t kKeptScheduleVersion = 1;
/// No iteration has more marks.
inline constexpr std::uint32_t kMostKeptMarks = 8;

struct KeptSchedule {
  PlanContext context;
  std::string job;                          ///< for people, not compared
  std::uint32_t marks = 1;                  ///< in an iteration
  std::vector<std::uint64_t> shape_hashes;  ///< as in Schedule
  std::vector<std::uint32_t> made_before;   ///< as in Schedule
  std::vector<Action> actions;              ///< as in Schedule
  std::vector<UseAt> lasting;               ///< as in Schedule

  /// Checks that there are ops, that all actions are before one of them, in order, and of a lasting buffer
  /// that is known, what there is before each op, and the number of marks. Error: kInvalidPlan.
  [[nodiscard]] Status validate() const;
  friend bool operator==(const KeptSchedule&, const KeptSchedule&) = default;
};

/// What stands for the iteration in a file's name: a hash of its ops.
std::uint64_t hash_of_ops(const std::vector<std::uint64_t>& shape_hashes);
/// "cuda-<hash of the context>-<hash>.stowschedule". `hash`: hash_of_ops() or hash_of_job().
std::string kept_schedule_name(const PlanContext& context, std::uint64_t hash);
/// True for what kept_schedule_name() may return.
bool is_kept_schedule_name(std::string_view name);
/// True for the name of any file that is kept between runs. Other files in a folder are not ours to remove.
bool is_kept_name(std::string_view name);

}  // namespace stowage
