#include "session/plans/plan_cache.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/format/plan_file.h"

namespace stowage::session {
namespace {

std::filesystem::path path_of(const std::string& folder, DeviceKind device, std::uint64_t fingerprint) {
  char name[64];
  std::snprintf(name, sizeof name, "%s-%016llx.stowplan", to_string(device),
                static_cast<unsigned long long>(fingerprint));
  return std::filesystem::path(folder) / name;
}

bool is_for(const Plan& plan, const Trace& trace, const Window& window) {
  if (plan.device != trace.info.device.kind || plan.fingerprint != window.fingerprint) return false;
  std::size_t entry = 0;
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.preexisting || buffer.birth < window.begin || buffer.birth >= window.end) continue;
    if (entry == plan.entries.size()) return false;
    const PlanEntry& planned = plan.entries[entry++];
    if (planned.rounded != buffer.rounded || planned.stream != buffer.stream) return false;
  }
  return entry == plan.entries.size();
}

}  // namespace

Result<std::optional<Plan>> find_plan(const std::string& folder, const Trace& trace, const Window& window) {
  const std::filesystem::path path = path_of(folder, trace.info.device.kind, window.fingerprint);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::optional<Plan>();
  Result<Plan> loaded = load_plan(path);
  if (!loaded.ok()) return loaded.error();
  if (Status valid = loaded->validate(); !valid)
    return Error{valid.error().code, path.string() + ": " + valid.error().message};
  if (!is_for(*loaded, trace, window))
    return Error{ErrorCode::kForeignFile, path.string() + ": the plan is for another job; remove the file"};
  return std::optional<Plan>(std::move(*loaded));
}

Status store_plan(const std::string& folder, const TraceInfo& info, const Plan& plan) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Error{ErrorCode::kIo,
                 folder + ": " + error.message() + "; plans are not kept (STOWAGE_PLAN_CACHE)"};
  const std::filesystem::path path = path_of(folder, info.device.kind, plan.fingerprint);
  if (std::filesystem::exists(path, error)) return {};
  return save_plan(plan, path);
}

void forget_plan(const std::string& folder, const TraceInfo& info, const Plan& plan) {
  std::error_code ignored;
  std::filesystem::remove(path_of(folder, info.device.kind, plan.fingerprint), ignored);
}

}  // namespace stowage::session
