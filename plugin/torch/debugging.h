// STOWAGE_VERIFY and STOWAGE_EVICT: the runtime sees the whole job's ops, with or without a budget, and
// checks or evicts what nobody asked it to. docs/debugging.md says what that is for.
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

  /// What the runtime is to be installed with.
  [[nodiscard]] recompute::Options options() const;
  /// The settings that hold from now on. Before sessions are made.
  void ask(const session::Settings& settings);
  /// Begins what was asked for, once Python's guards are known; further calls do nothing. A failure is a
  /// warning, and the job continues without.
  void begin();
  /// The runtime is installed for debugging.
  [[nodiscard]] bool on() const { return on_.load(std::memory_order_relaxed); }
  /// Brings back what is evicted, and says in one line what was checked. Failures are warnings.
  void end() noexcept;

 private:
  session::RuntimeUsers& users_;
  mutable std::mutex mutex_;  ///< of options_ and wanted_; never held while Python is called
  recompute::Options options_;
  bool wanted_ = false;
  std::atomic<bool> on_{false};
};

}  // namespace stowage::plugin
