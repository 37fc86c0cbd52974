// Plans as they are kept between runs of a job: the plans, and all that they depend on beside the order of
// the job's requests.
//
// The plans of one file are those of all kinds of iterations of a job, placed together. They are of use only
// to a job with the same context. A job finds its file by the file's name, which holds a hash of the context
// and the plan's fingerprint; what the file says itself is compared all the same. A file with an opening is
// found by the job's command instead, before the job has allocated anything. Thread safety: values and pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"

namespace stowage {

/// Raised when plans of before must not be used any more: it is part of every hash.
inline constexpr std::uint32_t kKeptPlansVersion = 3;
/// No file has more plans.
inline constexpr std::size_t kMostKeptPlans = 64;

/// What a plan depends on. Equal contexts are those of runs that may share plans; the rank is no part of it.
struct PlanContext {
  DeviceKind device = DeviceKind::kCpu;
  std::string device_name;
  Bytes device_memory{0};
  std::string torch_version;
  std::string budget;  ///< as the user wrote it; "": none
  std::uint64_t world_size = 1;
  std::string backend;  ///< memory of the arena: "vmm", "malloc" or "host"
  friend bool operator==(const PlanContext&, const PlanContext&) = default;
};

struct KeptPlans {
  PlanContext context;
  std::string job;  ///< for people, not compared
  /// The first one is for the iteration that the file is named after; with an opening see JointPlan.
  std::vector<Plan> plans;
  std::uint32_t opening = 0;                  ///< as in JointPlan
  std::vector<std::uint32_t> history;         ///< as in JointPlan
  MarkSource marks = MarkSource::kOptimizer;  ///< what ended the opening's iterations
  Bytes lower_bound{0};                       ///< with an opening, as in JointPlan
  Bytes need{0};                              ///< what an earlier run needed without a plan; 0: not known

  /// Checks each plan, that there is one, and that all are for the context's device; that the history holds
  /// plans that are there, those of an opening once each and in their order, and one behind them. Error:
  /// kInvalidPlan.
  [[nodiscard]] Status validate() const;
  friend bool operator==(const KeptPlans&, const KeptPlans&) = default;
};

/// "cuda-<hash of the context>-": what the names of all files for `context` begin with.
std::string kept_plans_prefix(const PlanContext& context);
/// "cuda-<hash of the context>-<fingerprint>.stowplan".
std::string kept_plans_name(const PlanContext& context, std::uint64_t fingerprint);
/// What stands for the fingerprint in the name of a file with an opening: a hash of what the job is.
std::uint64_t hash_of_job(std::string_view command);
/// True for what kept_plans_name() may return. Other files in a folder are not ours to remove.
bool is_kept_plans_name(std::string_view name);

}  // namespace stowage
