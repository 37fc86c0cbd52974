#include "core/cache_place.h"

namespace stowage {

std::string users_plan_folder(std::string_view xdg_cache_home, std::string_view home) {
  constexpr std::string_view kPlans = "/stowage/plans";
  if (xdg_cache_home.starts_with('/')) return std::string(xdg_cache_home) + std::string(kPlans);
  if (home.starts_with('/')) return std::string(home) + "/.cache" + std::string(kPlans);
  return {};
}

std::string plan_folder(std::string_view setting, const std::string& standard) {
  if (setting.empty()) return standard;
  if (setting == "off" || setting == "0" || setting == "none") return {};
  return std::string(setting);
}

}  // namespace stowage
