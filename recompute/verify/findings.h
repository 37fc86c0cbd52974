// What the checks of STOWAGE_VERIFY and the log of STOWAGE_EVICT have to say: collected under the runtime's
// lock, told outside of it, since a Python frame's line needs the interpreter's lock.
//
// Only the first finding is told as a whole: a wrong recipe is wrong in each iteration, and what starts from
// wrong bits is wrong, too.
//
// Thread safety: add() under the runtime's lock; the rest from any thread without it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "recompute/verify/source_line.h"

namespace stowage::recompute {

struct Finding {
  std::string text;   ///< several lines
  SourceLine source;  ///< of the op that it is about; empty where that is not known
  bool wrong = true;  ///< false: it is told for information
};

class Findings {
 public:
  using Tell = std::function<void(const std::string& text, bool wrong)>;
  /// Gets each finding that is told. Empty: they are counted only.
  void tell_with(Tell tell);
  void add(Finding finding);
  /// Tells what was added. Takes Python's lock where there is something to tell. Throws nothing.
  void tell_all() noexcept {
    if (pending_.load(std::memory_order_relaxed)) tell_waiting();
  }
  /// Counts from 0 again.
  void reset() { wrong_.store(0, std::memory_order_relaxed); }
  /// Findings of something wrong.
  [[nodiscard]] std::uint64_t wrong() const { return wrong_.load(std::memory_order_relaxed); }

 private:
  void tell_waiting() noexcept;

  Tell tell_;
  std::mutex mutex_;  ///< of waiting_
  std::vector<Finding> waiting_;
  std::atomic<bool> pending_{false};
  std::atomic<std::uint64_t> wrong_{0};
};

}  // namespace stowage::recompute
