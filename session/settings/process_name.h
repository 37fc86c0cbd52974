// What tells this process from the others of its job, and the files that it may write.
//
// A rank of a distributed job is "rank3": by the variables of torchrun (RANK, WORLD_SIZE), Open MPI, MPICH or
// Slurm, or by what Python was told of torch.distributed. A process with no rank has no name, and writes to
// the paths as they were given. No process overwrites what another wrote while it ran: the later one puts its
// number into the path. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "session/settings/environment.h"

namespace stowage::session {

/// "rank3" where the variables of a launcher say so of more than one process; else empty.
std::string rank_name(const Environment& environment);
/// The name of this process: as it was given last, else by its environment.
std::string process_name();
/// Names this process, such as "rank3" or "pid1234"; only letters and digits. Empty: by its environment
/// again.
void set_process_name(const std::string& name);

/// `path` with the name before its suffix: "a/report.json" and "rank3" give "a/report.rank3.json".
std::string path_for(const std::string& path, const std::string& name);

/// Nanoseconds of the clock by which files are dated.
std::int64_t now_ns();

/// While this lives no other process of Stowage's writes into the folder of `path`, unless it waited two
/// seconds.
class OutputClaim {
 public:
  /// `since_ns`: when this process began to take part, by now_ns().
  OutputClaim(const std::string& path, std::int64_t since_ns);
  ~OutputClaim();
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;
  /// Where to write: path_for() this process's name, and with its number where another process wrote that
  /// after `since_ns`.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int folder_ = -1;
};

}  // namespace stowage::session
