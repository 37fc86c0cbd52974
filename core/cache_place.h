// Where plans are kept between runs: what STOWAGE_PLAN_CACHE says, else the user's cache folder.
//
// One rule for the library and for the command `stowage cache`. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace stowage {

/// The most bytes of kept plans, where STOWAGE_PLAN_CACHE_BYTES does not say otherwise.
inline constexpr unsigned long long kPlanCacheBytes = 256ull << 20;

/// "stowage/plans" in `xdg_cache_home` ($XDG_CACHE_HOME), else in ".cache" of `home` ($HOME). A path that is
/// not absolute does not count, as the XDG base directory specification says; "" if there is none.
std::string users_plan_folder(std::string_view xdg_cache_home, std::string_view home);

/// The folder that `setting` (STOWAGE_PLAN_CACHE) names: `standard` for "", none ("") for "off", "0" and
/// "none", else `setting` itself.
std::string plan_folder(std::string_view setting, const std::string& standard);

}  // namespace stowage
