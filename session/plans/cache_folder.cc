#include "session/plans/cache_folder.h"

#include <utility>

#include "session/plans/cache_limit.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

using format::PrivateFolder;

std::string backend_of(DeviceKind device, ArenaBackend arena) {
  if (device == DeviceKind::kCpu) return "host";
  return arena == ArenaBackend::kVmm ? "vmm" : "malloc";
}

}  // namespace

PlanContext CacheFolder::context() const {
  PlanContext context;
  context.device = info_.device.kind;
  context.device_name = info_.device_name;
  context.device_memory = info_.device_memory;
  context.torch_version = info_.torch_version;
  if (settings_.budget.is_set()) context.budget = settings_.budget.text();
  context.world_size = settings_.world_size;
  context.backend = backend_of(info_.device.kind, settings_.arena);
  return context;
}

std::string CacheFolder::job(bool of_rank) const {
  std::string job = settings_.command;
  if (settings_.world_size <= 1) job += " on device " + std::to_string(info_.device.index);
  if (of_rank) job += " as " + settings_.rank;
  return job;
}

void CacheFolder::tell(const std::string& what) noexcept {
  if (std::exchange(told_, true)) return;
  contained(
      [&] {
        const bool chosen = settings_.plan_cache != settings_.users_plan_cache;
        chosen ? warn(what + " (STOWAGE_PLAN_CACHE)") : note(1, what + " (STOWAGE_PLAN_CACHE)");
      },
      [](const char*) {});
}

void CacheFolder::tell_of(const std::string& name, const std::string& what) {
  tell(settings_.plan_cache + "/" + name + ": " + what);
}

std::optional<PrivateFolder> CacheFolder::open() {
  if (settings_.plan_cache.empty()) return std::nullopt;
  Result<PrivateFolder> folder = PrivateFolder::open(settings_.plan_cache);
  if (folder.ok()) return std::move(*folder);
  if (folder.error().code != ErrorCode::kNotFound) tell(folder.error().message);
  return std::nullopt;
}

std::optional<PrivateFolder> CacheFolder::make() {
  if (settings_.plan_cache.empty()) return std::nullopt;
  Result<PrivateFolder> folder = PrivateFolder::make(settings_.plan_cache);
  if (folder.ok()) return std::move(*folder);
  tell(folder.error().message + "; plans are not kept");
  return std::nullopt;
}

void CacheFolder::write(const PrivateFolder& folder, const std::string& name,
                        const Result<std::vector<std::byte>>& bytes, const std::string& noun) {
  if (!bytes.ok()) return tell(bytes.error().message);
  if (bytes->size() > settings_.plan_cache_bytes)
    return tell(noun + " of " + std::to_string(bytes->size()) +
                " bytes are not kept: STOWAGE_PLAN_CACHE_BYTES allows less");
  if (const Status written = folder.write(name, *bytes); !written.ok())
    return tell(settings_.plan_cache + "/" + name + " " + written.error().message);
  limit_cache(folder, settings_.plan_cache_bytes, name);
}

}  // namespace stowage::session
