// What a replay found, as a table for people and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "replay/replayer.h"

namespace stowage::replay {

struct ReplayReport {
  std::string job;
  std::uint64_t allocations = 0;  ///< per iteration
  Bytes outside{0};               ///< served by upstream throughout: parameters, optimizer state
  PlannedReplay planned;
  std::optional<Figures> caching;  ///< as PyTorch's allocator would serve it, where that can be modelled
  std::optional<Figures> expandable;
  Bytes lower_bound{0};
  bool proved_optimal = false;
  std::string technique;
  std::uint64_t planning_ns = 0;
};

ReplayReport make_report(const Trace& trace, const Plan& plan, const PlannedReplay& planned);
/// Keys: job, allocations, height, lower_bound, proved, technique, planning_ms, peak_live, reserved,
/// fragmentation, misses, outside, compare.{caching,expandable}.{peak_live,reserved,fragmentation}, each null
/// where it cannot be modelled. Bytes throughout.
nlohmann::json to_json(const ReplayReport& report);
std::string to_table(const ReplayReport& report);

}  // namespace stowage::replay
