#include "core/kept_schedule.h"

#include <algorithm>

#include "core/support/mix.h"

namespace stowage {
namespace {

constexpr std::string_view kSuffix = ".stowschedule";
constexpr std::string_view kPlansSuffix = ".stowplan";

Error invalid(const std::string& what) { return Error{ErrorCode::kInvalidPlan, "a kept schedule " + what}; }

/// The same name with another suffix. Requires: `name` ends in `from`.
std::string with_suffix(std::string_view name, std::string_view from, std::string_view to) {
  return std::string(name.substr(0, name.size() - from.size())) + std::string(to);
}

}  // namespace

Status KeptSchedule::validate() const {
  if (shape_hashes.empty()) return invalid("is for no ops");
  if (marks == 0 || marks > kMostKeptMarks) return invalid("has a number of marks that cannot be");
  const auto is_wrong = [this](const Action& one) {
    return one.op >= shape_hashes.size() || one.kind > kLastActionKind ||
           (one.entry >= kLastingEntries && one.entry - kLastingEntries >= lasting.size());
  };
  if (std::any_of(actions.begin(), actions.end(), is_wrong)) return invalid("has an action that cannot be");
  if (!std::is_sorted(actions.begin(), actions.end(),
                      [](const Action& a, const Action& b) { return a.op < b.op; }))
    return invalid("is not in order of its ops");
  if (std::any_of(lasting.begin(), lasting.end(),
                  [this](const UseAt& use) { return use.op >= shape_hashes.size(); }))
    return invalid("knows a buffer by an op that does not come");
  if (!made_before.empty() && made_before.size() != shape_hashes.size())
    return invalid("does not say for each op what was made before it");
  if (!std::is_sorted(made_before.begin(), made_before.end()))
    return invalid("has fewer buffers before a later op");
  return {};
}

std::uint64_t hash_of_ops(const std::vector<std::uint64_t>& shape_hashes) {
  std::uint64_t hash = mix(kGoldenGamma ^ shape_hashes.size());
  for (const std::uint64_t shape : shape_hashes) hash = mix((hash ^ shape) + kGoldenGamma);
  return hash;
}

std::string kept_schedule_name(const PlanContext& context, std::uint64_t hash) {
  const std::uint64_t versioned = mix(hash ^ kKeptScheduleVersion);
  return with_suffix(kept_plans_name(context, versioned), kPlansSuffix, kSuffix);
}

bool is_kept_schedule_name(std::string_view name) {
  return name.ends_with(kSuffix) && is_kept_plans_name(with_suffix(name, kSuffix, kPlansSuffix));
}

bool is_kept_name(std::string_view name) { return is_kept_plans_name(name) || is_kept_schedule_name(name); }

}  // namespace stowage
