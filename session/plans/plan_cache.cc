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

Result<KeptPlans> PlanCache::read(const PrivateFolder& folder, const std::string& name) const {
  Result<std::vector<std::byte>> bytes = folder.read(name, format::Kind::kKeptPlans);
  if (!bytes.ok()) return bytes.error();
  Result<KeptPlans> kept = decode_kept_plans(*bytes);
  if (!kept.ok()) return kept.error();
  if (kept->context != context())
    return Error{ErrorCode::kForeignFile, "its plan was made under other conditions; remove the file"};
  return kept;
}

void PlanCache::write(const PrivateFolder& folder, const std::string& name, const KeptPlans& kept) {
  const Result<std::vector<std::byte>> bytes = encode_kept_plans(kept);
  if (!bytes.ok()) return tell(bytes.error().message);
  if (bytes->size() > settings_.plan_cache_bytes)
    return tell("plans of " + std::to_string(bytes->size()) +
                " bytes are not kept: STOWAGE_PLAN_CACHE_BYTES allows less");
  if (const Status written = folder.write(name, *bytes); !written.ok())
    return tell(settings_.plan_cache + "/" + name + " " + written.error().message);
  limit_cache(folder, settings_.plan_cache_bytes, name);
}

std::optional<std::vector<Plan>> PlanCache::find(const Trace& trace, const Window& window) noexcept {
  std::optional<std::vector<Plan>> found;
  contained(
      [&] {
        const std::optional<PrivateFolder> folder = open();
        if (!folder) return;
        const std::string name = kept_plans_name(context(), window.fingerprint);
        Result<KeptPlans> kept = read(*folder, name);
        if (kept.ok() && !is_for(kept->plans.front(), trace, window))
          kept = Error{ErrorCode::kForeignFile, "the plan is for another job; remove the file"};
        if (kept.ok()) {
          folder->touch(name);
          found = std::move(kept->plans);
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
        KeptPlans kept;
        kept.context = context();
        kept.job = info_.job;
        kept.plans = plans;
        write(*folder, name, kept);
      },
      [this](const char* what) { tell(what); });
}

// ---- openings

bool PlanCache::keeps_openings() const {
  return !settings_.plan_cache.empty() && !settings_.command.empty() && settings_.budget.text().empty() &&
         settings_.trace.empty();
}

// Without ranks each device of a process is a job of its own.
std::string PlanCache::opening_name(bool of_rank) const {
  std::string job = settings_.command;
  if (settings_.world_size <= 1) job += " on device " + std::to_string(info_.device.index);
  if (of_rank) job += " as " + settings_.rank;
  return kept_plans_name(context(), hash_of_job(job));
}

std::optional<KeptPlans> PlanCache::find_opening() noexcept {
  std::optional<KeptPlans> found;
  contained(
      [&] {
        if (!keeps_openings()) return;
        const std::optional<PrivateFolder> folder = open();
        if (!folder) return;
        of_rank_ = !settings_.rank.empty() && folder->has(opening_name(true));
        const std::string name = opening_name(of_rank_);
        Result<KeptPlans> kept = read(*folder, name);
        if (kept.ok() && kept->opening == 0)
          kept = Error{ErrorCode::kForeignFile, "the plans are not for a job's beginning; remove the file"};
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

bool PlanCache::wants_opening(bool anew) noexcept {
  bool wanted = false;
  contained(
      [&] {
        if (!keeps_openings()) return;
        const bool of_rank = of_rank_ || (refused_ && !settings_.rank.empty());
        const std::optional<PrivateFolder> folder = open();
        wanted = anew || refused_ || !folder || !folder->has(opening_name(of_rank));
      },
      [this](const char* what) { tell(what); });
  return wanted;
}

void PlanCache::store_opening(KeptPlans kept, bool anew) noexcept {
  if (!wants_opening(anew)) return;
  contained(
      [&] {
        const Result<PrivateFolder> folder = PrivateFolder::make(settings_.plan_cache);
        if (!folder.ok()) return tell(folder.error().message + "; plans are not kept");
        of_rank_ = of_rank_ || (refused_ && !settings_.rank.empty());
        refused_ = false;
        kept.context = context();
        kept.job = info_.job;
        write(*folder, opening_name(of_rank_), kept);
      },
      [this](const char* what) { tell(what); });
}

void PlanCache::forget_opening() noexcept {
  contained(
      [&] {
        if (!keeps_openings()) return;
        if (const std::optional<PrivateFolder> folder = open())
          static_cast<void>(folder->remove(opening_name(of_rank_)));
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
