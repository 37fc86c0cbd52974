#include "session/plans/kept_schedules.h"

#include <utility>

#include "core/format/kept_schedule_file.h"
#include "planner/schedule/received_schedule.h"
#include "session/ports/heap_margin.h"
#include "session/settings/notice.h"

namespace stowage::session {

using format::PrivateFolder;

// ---- the files

bool KeptSchedules::finds() const { return settings_.trace.empty(); }

std::string KeptSchedules::name_of_job() const {
  return kept_schedule_name(folder_.context(), hash_of_job(folder_.job(!settings_.rank.empty())));
}

std::string KeptSchedules::name_of_ops(const std::vector<std::uint64_t>& shape_hashes) const {
  return kept_schedule_name(folder_.context(), hash_of_ops(shape_hashes));
}

Result<KeptSchedule> KeptSchedules::read(const PrivateFolder& folder, const std::string& name) const {
  Result<KeptSchedule> kept = folder.read_as(name, format::Kind::kKeptSchedule, decode_kept_schedule);
  if (kept.ok() && kept->context != folder_.context())
    return Error{ErrorCode::kForeignFile, "its schedule was made under other conditions; remove the file"};
  return kept;
}

std::optional<KeptSchedule> KeptSchedules::find(const std::string& name) {
  const std::optional<PrivateFolder> folder = folder_.open();
  if (!folder) return std::nullopt;
  Result<KeptSchedule> kept = read(*folder, name);
  if (kept.ok()) {
    folder->touch(name);
    return std::move(*kept);
  }
  if (kept.error().code != ErrorCode::kNotFound) folder_.tell_of(name, kept.error().message);
  return std::nullopt;
}

void KeptSchedules::keep_as(const PrivateFolder& folder, const std::string& name, const KeptSchedule& kept) {
  const Result<KeptSchedule> there = read(folder, name);
  if (there.ok() && there->marks == kept.marks && there->shape_hashes == kept.shape_hashes &&
      there->made_before == kept.made_before && there->actions == kept.actions)
    return folder.touch(name);
  folder_.write(folder, name, encode_kept_schedule(kept), "schedules");
}

// ---- for the job

std::optional<KeptSchedule> KeptSchedules::of_last_run() noexcept {
  std::optional<KeptSchedule> found;
  contained(
      [&] {
        if (!finds() || settings_.command.empty()) return;
        const std::lock_guard lock(mutex_);
        found = last_ = find(name_of_job());
      },
      [this](const char* what) { folder_.tell(what); });
  return found;
}

void KeptSchedules::refuse_last_run() noexcept {
  contained(
      [&] {
        const std::lock_guard lock(mutex_);
        last_.reset();
        ++facts_.refused;
        if (const std::optional<PrivateFolder> folder = folder_.open())
          static_cast<void>(folder->remove(name_of_job()));
      },
      [this](const char* what) { folder_.tell(what); });
}

void KeptSchedules::keep(const Schedule& schedule, std::uint32_t marks, bool by_job) noexcept {
  contained(
      [&] {
        const std::lock_guard lock(mutex_);
        const std::optional<PrivateFolder> folder = folder_.make();
        if (!folder) return;
        const KeptSchedule kept{
            folder_.context(),    info_.job,        marks,           schedule.shape_hashes,
            schedule.made_before, schedule.actions, schedule.lasting};
        keep_as(*folder, name_of_ops(kept.shape_hashes), kept);
        if (by_job && !settings_.command.empty()) keep_as(*folder, name_of_job(), kept);
      },
      [this](const char* what) { folder_.tell(what); });
}

// ---- for the scheduler's thread

KeptSchedules::Maker KeptSchedules::before(Maker make) {
  using planner::schedule::Effort;
  return [this, make = std::move(make)](const StepLog& log, Bytes budget, Effort effort,
                                        const std::stop_token& stop) {
    if (effort != Effort::kFirst) return make(log, budget, effort, stop);
    return this->make(make, log, budget, stop);
  };
}

std::optional<KeptSchedule> KeptSchedules::take(const StepLog& log) {
  std::optional<KeptSchedule> found;
  contained(
      [&] {
        const std::lock_guard lock(mutex_);
        if (!finds() || !taken_.insert(hash_of_ops(log.shape_hashes)).second) return;
        const bool is_last = last_ && last_->shape_hashes == log.shape_hashes;
        found = is_last ? std::exchange(last_, std::nullopt) : find(name_of_ops(log.shape_hashes));
        if (found && found->shape_hashes != log.shape_hashes) found.reset();
      },
      [this](const char* what) { folder_.tell(what); });
  return found;
}

Result<Schedule> KeptSchedules::make(const Maker& make, const StepLog& log, Bytes budget,
                                     const std::stop_token& stop) {
  if (std::optional<KeptSchedule> kept = take(log)) {
    const Bytes most = budget + heap_margin(budget);
    Result<Schedule> accepted = planner::schedule::accept_schedule(log, std::move(kept->actions), most, stop);
    if (!accepted && stop.stop_requested()) return accepted;
    count(accepted ? &KeptScheduleFacts::found : &KeptScheduleFacts::refused);
    if (accepted) return accepted;
    note(1, "budget: the schedule that an earlier run kept is not used: " + accepted.error().message);
  }
  Result<Schedule> made = make(log, budget, planner::schedule::Effort::kFirst, stop);
  if (made) count(&KeptScheduleFacts::made);
  return made;
}

// ---- facts

void KeptSchedules::count(std::uint64_t KeptScheduleFacts::*what) {
  const std::lock_guard lock(mutex_);
  ++(facts_.*what);
}

KeptScheduleFacts KeptSchedules::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace stowage::session
