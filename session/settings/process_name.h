// The name that distinguishes this process from others of its job, and the files that it may write.
//
// A rank of a distributed job is called "rank3", from the variables of torchrun (RANK, WORLD_SIZE), Open
// MPI, MPICH or Slurm, or from what Python knows of torch.distributed. A process without a rank has no name,
// and writes to the given paths. No process overwrites what another wrote while it ran: the later one puts
// its process id into the path. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "session/settings/environment.h"

namespace stowage::session {

/// "rank3" if a launcher's variables describe more than one process; else empty.
std::string rank_name(const Environment& environment);
/// How many processes a launcher's variables say that the job has; 1 if there are none.
std::uint64_t world_size(const Environment& environment);
/// The name of this process: the one set last, else from its environment.
std::string process_name();
/// Names this process, such as "rank3" or "pid1234"; only letters and digits. Empty: takes the name from the
/// environment again.
void set_process_name(const std::string& name);

/// `path` with the name before its suffix: "a/report.json" and "rank3" give "a/report.rank3.json".
std::string path_for(const std::string& path, const std::string& name);

/// What stays the same from one run of a job to the next, and differs between jobs: this process's command
/// line, with the program and the script that it names (the first argument that is a file) as absolute paths.
/// "" where that says nothing about the job: a child that multiprocessing spawned, or Python without a
/// script.
std::string process_command();
/// The same for the `arguments` of `program`, in the present folder.
std::string command_of(const std::string& program, const std::vector<std::string>& arguments);

/// Nanoseconds of the clock by which files are dated.
std::int64_t now_ns();

/// While this exists, no other Stowage process writes into the folder of `path`, unless it has waited for
/// two seconds.
class OutputClaim {
 public:
  /// `since_ns`: when this process began to take part, by now_ns().
  OutputClaim(const std::string& path, std::int64_t since_ns);
  ~OutputClaim();
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;
  /// Where to write: path_for() with this process's name, plus its process id if another process wrote that
  /// file after `since_ns`.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int folder_ = -1;
};

}  // namespace stowage::session
