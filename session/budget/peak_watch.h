// Detects from the allocations alone when a job has reached its own peak: for jobs without marked
// iterations.
//
// In any repeated work (requests of a server, prompts, steps without an optimizer) the live bytes rise, fall
// and rise again, and the low points between two rises are nearly the same. After several swings of the
// largest kind, and some thousand allocations, the peak so far is taken as the job's own. In a forward pass
// the low points grow from layer to layer and in a backward pass they shrink, so layers do not count as
// swings.
//
// Thread safety: every member may be called from any thread (one mutex inside).
#pragma once

#include <cstdint>
#include <mutex>

#include "core/units.h"

namespace stowage::session {

struct PeakWatchOptions {
  std::uint64_t least_allocations = 2048;    ///< before the peak is believed
  std::uint64_t swings = 8;                  ///< of the largest kind, in a row
  std::uint64_t longest_swing = 1ull << 15;  ///< allocations; without a swing in as many, starts over
};

class PeakWatch {
 public:
  explicit PeakWatch(PeakWatchOptions options = {}) : options_(options) {}

  /// Call at each allocation; `live`: bytes alive then. True if the peak so far is the job's own.
  bool on_alloc(Bytes live);

 private:
  void begin_anew(std::uint64_t live);
  void note_fall(std::uint64_t live);
  void note_rise(std::uint64_t live);

  const PeakWatchOptions options_;
  std::mutex mutex_;
  std::uint64_t allocations_ = 0;
  std::uint64_t swing_began_ = 0;  ///< `allocations_` at that time
  std::uint64_t swings_ = 0;
  std::uint64_t largest_ = 0;      ///< bytes of the largest fall
  std::uint64_t top_ = 0;          ///< highest of this rise
  std::uint64_t valley_ = 0;       ///< lowest since it fell
  std::uint64_t last_valley_ = 0;  ///< of the swing before
  bool falls_ = false;
};

}  // namespace stowage::session
