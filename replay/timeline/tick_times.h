// When a tick of a trace was.
//
// Thread safety: const functions of a finished object are safe from all threads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/trace.h"

namespace stowage::replay {

/// Ticks of a trace as times: linear between the ops and marks whose time is known.
class TickTimes {
 public:
  explicit TickTimes(const Trace& trace);
  /// No tick's time is known.
  [[nodiscard]] bool empty() const { return anchors_.empty(); }
  [[nodiscard]] std::uint64_t ns(Tick tick) const;

 private:
  struct Anchor {
    Tick tick;
    std::uint64_t ns;
  };
  std::vector<Anchor> anchors_;  ///< in order of tick and of time
};

}  // namespace stowage::replay
