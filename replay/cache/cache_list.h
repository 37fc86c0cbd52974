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

namespace stowage::replay {

/// One file.
struct CacheRow {
  format::PrivateFolder::File file;
  std::optional<KeptPlans> kept;  ///< nothing if it cannot be read
  std::string problem;            ///< why it cannot be read
};

/// The kept plans in `folder`, those that were used last first. Files that are not ours are left out.
std::vector<CacheRow> list_cache(const format::PrivateFolder& folder);

/// `now_ns`: by CLOCK_REALTIME.
std::string to_table(const std::string& path, const std::vector<CacheRow>& rows, std::int64_t now_ns);
nlohmann::json to_json(const std::string& path, const std::vector<CacheRow>& rows, std::int64_t now_ns);

/// Removes kept plans that were not used for `days` (0: all), and what writers left that ended too early.
/// Returns the files that were removed.
std::vector<format::PrivateFolder::File> clear_cache(const format::PrivateFolder& folder, double days,
                                                     std::int64_t now_ns);

/// "1.2 MiB", "310 KiB".
std::string amount_of(std::uint64_t bytes);

}  // namespace stowage::replay
