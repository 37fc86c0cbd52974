// Counts the sessions that need the one runtime of a process: the first installs it, behind Python's guards,
// and the last takes it out.
//
// Thread safety: every member, from any thread. Python is called without our lock: it waits for the
// interpreter, which another caller may hold. Invariant: where the runtime is installed, the guards were
// placed before.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "core/result.h"

namespace stowage::session {

/// Places (1) or removes (0) Python's guards, which are there as long as one more was placed than removed; 2
/// after 1: the runtime is installed, and is told about memory that was lent before. 0 for success.
using GuardPlacer = int (*)(int place);

class RuntimeUsers {
 public:
  /// What puts the runtime in place and takes it out. They may throw, and are called one at a time.
  RuntimeUsers(std::function<Status()> install, std::function<void()> uninstall);

  /// Python is there.
  void set_guard_placer(GuardPlacer placer);
  [[nodiscard]] bool guards_are_known() const;

  /// One more user. Error: the guards cannot be placed, or installing failed; then it is not counted.
  Status begin();
  /// One user fewer. Throws what uninstalling throws; then it still counts. Requires: begin() succeeded.
  void end();

 private:
  Status add();

  const std::function<Status()> install_;
  const std::function<void()> uninstall_;
  std::atomic<GuardPlacer> placer_{nullptr};
  std::mutex mutex_;
  int count_ = 0;
};

}  // namespace stowage::session
