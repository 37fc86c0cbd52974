#include "session/plans/plan_cache.h"

#include <algorithm>
#include <utility>

#include "core/format/kept_plans_file.h"

namespace stowage::session {
namespace {

using format::PrivateFolder;

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

bool PlanCache::may_find() noexcept {
  bool found = false;
  contained(
      [&] {
        if (!settings_.trace.empty()) return;
        const std::optional<PrivateFolder> folder = folder_.open();
        if (!folder) return;
        const std::string prefix = kept_plans_prefix(folder_.context());
        const std::vector<PrivateFolder::File> files = folder->files();
        found = std::any_of(files.begin(), files.end(), [&](const auto& file) {
          return file.name.starts_with(prefix) && is_kept_plans_name(file.name);
        });
      },
      [this](const char* what) { folder_.tell(what); });
  return found;
}

Result<KeptPlans> PlanCache::read(const PrivateFolder& folder, const std::string& name) const {
  Result<KeptPlans> kept = folder.read_as(name, format::Kind::kKeptPlans, decode_kept_plans);
  if (kept.ok() && kept->context != folder_.context())
    return Error{ErrorCode::kForeignFile, "its plan was made under other conditions; remove the file"};
  return kept;
}

void PlanCache::write(const PrivateFolder& folder, const std::string& name, const KeptPlans& kept) {
  folder_.write(folder, name, encode_kept_plans(kept), "plans");
}

std::optional<std::vector<Plan>> PlanCache::find(const Trace& trace, const Window& window) noexcept {
  std::optional<std::vector<Plan>> found;
  contained(
      [&] {
        const std::optional<PrivateFolder> folder = folder_.open();
        if (!folder) return;
        const std::string name = kept_plans_name(folder_.context(), window.fingerprint);
        Result<KeptPlans> kept = read(*folder, name);
        if (kept.ok() && !is_for(kept->plans.front(), trace, window))
          kept = Error{ErrorCode::kForeignFile, "the plan is for another job; remove the file"};
        if (kept.ok()) {
          folder->touch(name);
          found = std::move(kept->plans);
        } else if (kept.error().code != ErrorCode::kNotFound) {
          folder_.tell_of(name, kept.error().message);
        }
      },
      [this](const char* what) { folder_.tell(what); });
  return found;
}

void PlanCache::store(const std::vector<Plan>& plans, bool anew) noexcept {
  contained(
      [&] {
        const std::optional<PrivateFolder> folder = folder_.make();
        if (!folder) return;
        const std::string name = kept_plans_name(folder_.context(), plans.front().fingerprint);
        if (!anew && folder->has(name)) return;
        KeptPlans kept;
        kept.context = folder_.context();
        kept.job = info_.job;
        kept.plans = plans;
        write(*folder, name, kept);
      },
      [this](const char* what) { folder_.tell(what); });
}

// ---- openings

bool PlanCache::keeps_openings() const {
  return !settings_.plan_cache.empty() && !settings_.command.empty() && !settings_.budget.is_set() &&
         settings_.trace.empty();
}

std::string PlanCache::opening_name(bool of_rank) const {
  return kept_plans_name(folder_.context(), hash_of_job(folder_.job(of_rank)));
}

std::optional<KeptPlans> PlanCache::find_opening() noexcept {
  std::optional<KeptPlans> found;
  contained(
      [&] {
        if (!keeps_openings()) return;
        const std::optional<PrivateFolder> folder = folder_.open();
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
          folder_.tell_of(name, kept.error().message);
        }
      },
      [this](const char* what) { folder_.tell(what); });
  return found;
}

bool PlanCache::wants_opening(bool anew) noexcept {
  bool wanted = false;
  contained(
      [&] {
        if (!keeps_openings()) return;
        const bool of_rank = of_rank_ || (refused_ && !settings_.rank.empty());
        const std::optional<PrivateFolder> folder = folder_.open();
        wanted = anew || refused_ || !folder || !folder->has(opening_name(of_rank));
      },
      [this](const char* what) { folder_.tell(what); });
  return wanted;
}

void PlanCache::store_opening(KeptPlans kept, bool anew) noexcept {
  if (!wants_opening(anew)) return;
  contained(
      [&] {
        const std::optional<PrivateFolder> folder = folder_.make();
        if (!folder) return;
        of_rank_ = of_rank_ || (refused_ && !settings_.rank.empty());
        refused_ = false;
        kept.context = folder_.context();
        kept.job = info_.job;
        write(*folder, opening_name(of_rank_), kept);
      },
      [this](const char* what) { folder_.tell(what); });
}

void PlanCache::forget_opening() noexcept {
  contained(
      [&] {
        if (!keeps_openings()) return;
        if (const std::optional<PrivateFolder> folder = folder_.open())
          static_cast<void>(folder->remove(opening_name(of_rank_)));
      },
      [this](const char* what) { folder_.tell(what); });
}

void PlanCache::forget(const Plan& plan) noexcept {
  contained(
      [&] {
        const std::optional<PrivateFolder> folder = folder_.open();
        if (folder) static_cast<void>(folder->remove(kept_plans_name(folder_.context(), plan.fingerprint)));
      },
      [this](const char* what) { folder_.tell(what); });
}

}  // namespace stowage::session
