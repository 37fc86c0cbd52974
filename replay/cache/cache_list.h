// What a folder of kept plans holds, for people and as JSON.
//
// Thread safety: functions without state. Files come and go while they run: what is gone is left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/format/private_folder.h"
#include "core/kept_plans.h"
#include "core/kept_schedule.h"

namespace stowage::replay {

/// One file.
struct CacheRow {
  format::PrivateFolder::File file;
  std::optional<KeptPlans> kept;         ///< nothing if it is none, or cannot be read
  std::optional<KeptSchedule> schedule;  ///< the same
  std::string problem;                   ///< why it cannot be read
};

/// The kept plans and schedules in `folder`, those that were used last first. Files that are not ours are
/// left out.
std::vector<CacheRow> list_cache(const format::PrivateFolder& folder);

/// `now_ns`: by CLOCK_REALTIME.
std::string to_table(const std::string& path, const std::vector<CacheRow>& rows, std::int64_t now_ns);
nlohmann::json to_json(const std::string& path, const std::vector<CacheRow>& rows, std::int64_t now_ns);

/// Removes kept plans and schedules that were not used for `days` (0: all), and what writers left that ended
/// too early. Returns the files that were removed.
std::vector<format::PrivateFolder::File> clear_cache(const format::PrivateFolder& folder, double days,
                                                     std::int64_t now_ns);

/// "2 plans", "1 plan, 2 schedules": what the files hold, by their names.
std::string counted(const std::vector<format::PrivateFolder::File>& files);

/// "1.2 MiB", "310 KiB".
std::string amount_of(std::uint64_t bytes);

}  // namespace stowage::replay
