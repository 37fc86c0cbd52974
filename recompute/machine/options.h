// How the runtime behaves: what Runtime::install() is given (recompute.h).
//
// Thread safety: a value.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace stowage::recompute {

/// How the runtime behaves. All defaults are for use; the others are for tests.
struct Options {
  /// Storages smaller than this are never evicted.
  Bytes smallest{1024};
  /// Tests: evicted CPU bytes are overwritten with NaN patterns before they are given back.
  bool poison = false;
  /// Tests: every `forced_every` ops, each evictable storage is evicted with probability 1/2. 0: never.
  std::uint32_t forced_every = 0;
  std::uint64_t forced_seed = 0;
  /// No more is evicted when recomputation took more than this many times the time of the job's own ops. On
  /// CUDA both are computed from sizes, so that it is the same in each iteration and on every rank.
  double thrash_limit = 3.0;
};

}  // namespace stowage::recompute
