// Which marks count: those of a period until an optimizer steps, then the optimizer's, until the user marks
// iterations explicitly.
//
// Thread safety: none; the conductor's.
#pragma once

#include <cstdint>

#include "core/trace.h"

namespace stowage::session {

class BestSource {
 public:
  enum class Mark : std::uint8_t {
    kIgnored,  ///< iterations are marked in a better way
    kCounts,
    kBetter  ///< it counts, and those before it were worse
  };
  Mark on_mark(MarkSource source) {
    const int rank = rank_of(source);
    if (rank < best_) return Mark::kIgnored;
    if (rank == best_) return Mark::kCounts;
    best_ = rank;
    return Mark::kBetter;
  }
  /// Marks of `source` are known to come.
  void expect(MarkSource source) { best_ = rank_of(source); }

 private:
  static int rank_of(MarkSource source) {
    switch (source) {
      case MarkSource::kPeriod:
        return 0;
      case MarkSource::kOptimizer:
        return 1;
      case MarkSource::kUser:
        return 2;
    }
    return 0;
  }

  int best_ = 0;  ///< rank of the best source so far
};

}  // namespace stowage::session
