// Counts the sessions that need the one runtime of a process: the first installs it, after Python's guards,
// and the last uninstalls it.
//
// Thread safety: every member, from any thread. Python is called without our lock: that waits for the
// GIL, which another caller may hold. Invariant: the guards were placed before the runtime was
// installed.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "core/result.h"

namespace stowage::session {

/// Places (1) or removes (0) Python's guards, which stay while more were placed than removed; 2, after 1:
/// the runtime is installed, and must be told of memory that was lent before; 3: and of tensors that were
/// there before. Returns 0 for success.
using GuardPlacer = int (*)(int place);

class RuntimeUsers {
 public:
  /// Install and uninstall the runtime. They may throw, and are called one at a time.
  RuntimeUsers(std::function<Status()> install, std::function<void()> uninstall);

  /// Python is available.
  void set_guard_placer(GuardPlacer placer);
  [[nodiscard]] bool guards_are_known() const;

  /// One more user. Error: the guards cannot be placed, or installing failed; then it is not counted.
  Status begin();
  /// The runtime was installed in the midst of the job: it hears of the tensors that are there. Requires:
  /// begin() succeeded.
  void tell_present() const { placer_.load(std::memory_order_acquire)(3); }
  /// One user fewer. Throws as uninstalling does; then it still counts. Requires: begin() succeeded.
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
