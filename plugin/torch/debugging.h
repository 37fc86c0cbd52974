// STOWAGE_VERIFY and STOWAGE_EVICT: the runtime observes all ops of the job, with or without a budget, to
// verify recipes or to force evictions. docs/debugging.md says what that is for.
//
// Thread safety: every member, from any thread.
#pragma once

#include <atomic>
#include <mutex>

#include "recompute/machine/options.h"
#include "session/ports/runtime_users.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

class Debugging {
 public:
  explicit Debugging(session::RuntimeUsers& users) : users_(users) {}

  /// The options for installing the runtime.
  [[nodiscard]] recompute::Options options() const;
  /// The settings to use from now on. Call before sessions are made.
  void ask(const session::Settings& settings);
  /// Starts what the settings ask for, once Python's guards are known; further calls do nothing. A failure
  /// is a warning, and the job continues without it.
  void begin();
  /// The runtime is installed for debugging.
  [[nodiscard]] bool on() const { return on_.load(std::memory_order_relaxed); }
  /// Restores evicted tensors, and prints one line on what was checked. Failures are warnings.
  void end() noexcept;

 private:
  session::RuntimeUsers& users_;
  mutable std::mutex mutex_;  ///< of options_ and wanted_; never held while Python is called
  recompute::Options options_;
  bool wanted_ = false;
  std::atomic<bool> on_{false};
};

}  // namespace stowage::plugin
