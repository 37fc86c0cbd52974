#include "session/plans/plan_cache.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/format/kept_plans_file.h"
#include "session/plans/cache_limit.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

using format::PrivateFolder;

std::string backend_of(DeviceKind device, ArenaBackend arena) {
  if (device == DeviceKind::kCpu) return "host";
  return arena == ArenaBackend::kVmm ? "vmm" : "malloc";
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

// What fails in the cache must not reach the job, whatever it is.
template <class Work, class Failed>
void contained(Work work, Failed failed) noexcept try {
  work();
} catch (const std::exception& error) {
  failed(error.what());
}

}  // namespace

PlanContext PlanCache::context() const {
  PlanContext context;
  context.device = info_.device.kind;
  context.device_name = info_.device_name;
  context.device_memory = info_.device_memory;
  context.torch_version = info_.torch_version;
  context.budget = settings_.budget.text();
  context.world_size = settings_.world_size;
  context.backend = backend_of(info_.device.kind, settings_.arena);
  return context;
}

void PlanCache::tell(const std::string& what) noexcept {
  if (std::exchange(told_, true)) return;
  contained(
      [&] {
        const bool chosen = settings_.plan_cache != settings_.users_plan_cache;
        chosen ? warn(what + " (STOWAGE_PLAN_CACHE)") : note(1, what + " (STOWAGE_PLAN_CACHE)");
      },
      [](const char*) {});
}

std::optional<PrivateFolder> PlanCache::open() {
  if (settings_.plan_cache.empty()) return std::nullopt;
  Result<PrivateFolder> folder = PrivateFolder::open(settings_.plan_cache);
  if (folder.ok()) return std::move(*folder);
  if (folder.error().code != ErrorCode::kNotFound) tell(folder.error().message);
  return std::nullopt;
}

bool PlanCache::may_find() noexcept {
  bool found = false;
  contained(
      [&] {
        if (!settings_.trace.empty()) return;
        const std::optional<PrivateFolder> folder = open();
        if (!folder) return;
        const std::string prefix = kept_plans_prefix(context());
        const std::vector<PrivateFolder::File> files = folder->files();
        found = std::any_of(files.begin(), files.end(),
                            [&](const auto& file) { return file.name.starts_with(prefix); });
      },
      [this](const char* what) { tell(what); });
  return found;
}

Result<std::vector<Plan>> PlanCache::read(const PrivateFolder& folder, const std::string& name) const {
  Result<std::vector<std::byte>> bytes = folder.read(name, format::Kind::kKeptPlans);
  if (!bytes.ok()) return bytes.error();
  Result<KeptPlans> kept = decode_kept_plans(*bytes);
  if (!kept.ok()) return kept.error();
  if (kept->context != context())
    return Error{ErrorCode::kForeignFile, "its plan was made under other conditions; remove the file"};
  return std::move(kept->plans);
}

std::optional<std::vector<Plan>> PlanCache::find(const Trace& trace, const Window& window) noexcept {
  std::optional<std::vector<Plan>> found;
  contained(
      [&] {
        const std::optional<PrivateFolder> folder = open();
        if (!folder) return;
        const std::string name = kept_plans_name(context(), window.fingerprint);
        Result<std::vector<Plan>> kept = read(*folder, name);
        if (kept.ok() && !is_for(kept->front(), trace, window))
          kept = Error{ErrorCode::kForeignFile, "the plan is for another job; remove the file"};
        if (kept.ok()) {
          folder->touch(name);
          found = std::move(*kept);
        } else if (kept.error().code != ErrorCode::kNotFound) {
          tell(settings_.plan_cache + "/" + name + ": " + kept.error().message);
        }
      },
      [this](const char* what) { tell(what); });
  return found;
}

void PlanCache::store(const std::vector<Plan>& plans, bool anew) noexcept {
  if (settings_.plan_cache.empty()) return;
  contained(
      [&] {
        const Result<PrivateFolder> folder = PrivateFolder::make(settings_.plan_cache);
        if (!folder.ok()) return tell(folder.error().message + "; plans are not kept");
        const std::string name = kept_plans_name(context(), plans.front().fingerprint);
        if (!anew && folder->has(name)) return;
        const Result<std::vector<std::byte>> bytes = encode_kept_plans({context(), info_.job, plans});
        if (!bytes.ok()) return tell(bytes.error().message);
        if (bytes->size() > settings_.plan_cache_bytes)
          return tell("plans of " + std::to_string(bytes->size()) +
                      " bytes are not kept: STOWAGE_PLAN_CACHE_BYTES allows less");
        if (const Status written = folder->write(name, *bytes); !written.ok())
          return tell(settings_.plan_cache + "/" + name + " " + written.error().message);
        limit_cache(*folder, settings_.plan_cache_bytes, name);
      },
      [this](const char* what) { tell(what); });
}

void PlanCache::forget(const Plan& plan) noexcept {
  contained(
      [&] {
        const std::optional<PrivateFolder> folder = open();
        if (folder) static_cast<void>(folder->remove(kept_plans_name(context(), plan.fingerprint)));
      },
      [this](const char* what) { tell(what); });
}

}  // namespace stowage::session
