// Schedules kept in the plan cache between runs of a job under a budget.
//
// A schedule is kept under two names: its ops', by which a run finds it once it has logged an iteration, and
// the job's (Settings::command; in a job of several processes of one rank), by which the next run finds it
// before it has logged anything. What is found is checked on this run's own log and against its own limit
// as another rank's would be (planner/schedule/received_schedule.h). Each is tried once: what was
// refused, or what turned out to be too much, is made anew and replaced.
//
// Failures are as cache_folder.h says. Thread safety: any thread; one mutex, never held while a schedule is
// checked or made. Must outlive its makers' calls.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/kept_schedule.h"
#include "planner/schedule/background.h"
#include "session/plans/cache_folder.h"

namespace stowage::session {

/// What became of the schedules that this run asked for.
struct KeptScheduleFacts {
  std::uint64_t found = 0;    ///< kept by an earlier run, and used once they were checked
  std::uint64_t refused = 0;  ///< kept by an earlier run, but they do not fit
  std::uint64_t made = 0;     ///< by this run, or by another rank of it
};

class KeptSchedules {
 public:
  using Maker = planner::schedule::BackgroundScheduler::Maker;
  /// Both must outlive it.
  KeptSchedules(const Settings& settings, const TraceInfo& info)
      : settings_(settings), info_(info), folder_(settings, info) {}

  /// What the job's last run kept; nothing if there is none that can be read.
  std::optional<KeptSchedule> of_last_run() noexcept;
  /// What of_last_run() returned is not for what this run does: the next one will not find it.
  void refuse_last_run() noexcept;
  /// A maker that returns a kept schedule for the log where one fits, else what `make` does; for a better one
  /// than that what `make` does.
  [[nodiscard]] Maker before(Maker make);
  /// Keeps the schedule, of an iteration with so many marks.
  void keep(const Schedule& schedule, std::uint32_t marks) noexcept { keep(schedule, marks, true); }
  /// Keeps a further one of the job's, under its ops' name alone.
  void keep_by_ops(const Schedule& schedule) noexcept { keep(schedule, 1, /*by_job=*/false); }
  [[nodiscard]] KeptScheduleFacts facts() const;

 private:
  [[nodiscard]] bool finds() const;
  void keep(const Schedule& schedule, std::uint32_t marks, bool by_job) noexcept;
  [[nodiscard]] std::string name_of_job() const;
  [[nodiscard]] std::string name_of_ops(const std::vector<std::uint64_t>& shape_hashes) const;
  [[nodiscard]] Result<KeptSchedule> read(const format::PrivateFolder& folder, const std::string& name) const;
  std::optional<KeptSchedule> find(const std::string& name);
  /// The one to try for a log, once for each iteration's ops.
  std::optional<KeptSchedule> take(const StepLog& log);
  void keep_as(const format::PrivateFolder& folder, const std::string& name, const KeptSchedule& kept);
  Result<Schedule> make(const Maker& make, const StepLog& log, Bytes budget, const std::stop_token& stop);
  void count(std::uint64_t KeptScheduleFacts::*what);

  const Settings& settings_;
  const TraceInfo& info_;
  mutable std::mutex mutex_;
  CacheFolder folder_;
  std::optional<KeptSchedule> last_;  ///< of_last_run()
  std::set<std::uint64_t> taken_;     ///< by hash_of_ops()
  KeptScheduleFacts facts_;
};

}  // namespace stowage::session
