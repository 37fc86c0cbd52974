// Everything the runtime owns, behind its one lock. For the files of this folder; the door is recompute.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "recompute/evictor.h"
#include "recompute/foreign_buffers.h"
#include "recompute/recompute.h"
#include "recompute/residency.h"
#include "recompute/storage_book.h"

namespace stowage::recompute {

struct Machine {
  std::recursive_mutex mutex;
  Options options;
  StorageBook book;
  Residency residency{book};
  ForeignBuffers foreign;
  KindBook kinds;
  Evictor evictor{book, residency, foreign};
  Counters counters;  ///< what Residency does not count
  std::uint64_t op_number = 0;
  std::uint64_t environment = 0;       ///< global settings of torch under which recipes were recorded
  std::uint64_t window_ops_ns = 0;     ///< for the thrash guard: since its window began
  std::uint64_t window_replay_ns = 0;  ///< Residency's total when the window began
  std::atomic<bool> on{false};

  /// True if more was recomputed in the present window than options.thrash_limit allows.
  [[nodiscard]] bool thrashes() const;
  /// Sweeps and starts a new window of the thrash guard, every so many ops.
  void tick();
  /// Global settings of torch changed: recipes would not give the same bits. Brings all back and forgets
  /// them.
  void check_environment();
};

/// The one of the process; never destroyed.
Machine& machine();

/// > 0: the calling thread runs code that may touch memory unseen.
int& opaque_depth() noexcept;

}  // namespace stowage::recompute
