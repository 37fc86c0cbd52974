// The folder of what is kept between runs (STOWAGE_PLAN_CACHE), as one session sees it: where it is, under
// which context the session's files are, and what is said where it cannot be used.
//
// The folder and its files belong to the user alone (core/format/private_folder.h); a folder in which others
// may write is not used. After each write the files that were not used for longest are removed until the rest
// takes at most STOWAGE_PLAN_CACHE_BYTES. Nothing that fails here is the job's concern: the first failure is
// one warning where the user chose the folder, else a note. Thread safety: its owner's. Files are replaced in
// one step, so several processes may share a folder.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/format/private_folder.h"
#include "core/kept_plans.h"
#include "core/trace.h"
#include "session/settings/settings.h"

namespace stowage::session {

/// Runs `work`; what fails in the cache must not reach the job, whatever it is.
template <class Work, class Failed>
void contained(Work work, Failed failed) noexcept try {
  work();
} catch (const std::exception& error) {
  failed(error.what());
}

class CacheFolder {
 public:
  /// Both must outlive it.
  CacheFolder(const Settings& settings, const TraceInfo& info) : settings_(settings), info_(info) {}

  /// What the session's files depend on.
  [[nodiscard]] PlanContext context() const;
  /// What the job is known by before it has allocated anything. `of_rank`: for this rank alone. Without ranks
  /// each device of a process is a job of its own.
  [[nodiscard]] std::string job(bool of_rank) const;
  /// The folder; nothing if plans are not kept, or if it cannot be used, which is told.
  std::optional<format::PrivateFolder> open();
  /// The same, but makes it where it is missing.
  std::optional<format::PrivateFolder> make();
  /// Writes the file, and keeps to the limit. Failures are told; `noun`: what is in it, for messages.
  void write(const format::PrivateFolder& folder, const std::string& name,
             const Result<std::vector<std::byte>>& bytes, const std::string& noun);
  /// Says what failed; the first one only.
  void tell(const std::string& what) noexcept;
  /// tell(), naming the file.
  void tell_of(const std::string& name, const std::string& what);

 private:
  const Settings& settings_;
  const TraceInfo& info_;
  bool told_ = false;
};

}  // namespace stowage::session
