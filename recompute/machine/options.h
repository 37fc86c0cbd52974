// How the runtime behaves: what Runtime::install() is given (recompute.h).
//
// Thread safety: a value.
#pragma once

#include <functional>
#include <string>

#include "core/units.h"
#include "recompute/verify/forced.h"

namespace stowage::recompute {

/// All defaults are for use.
struct Options {
  /// Storages smaller than this are never evicted.
  Bytes smallest{1024};
  /// An op that needs much memory at once runs in parts (list_groups.h, split_backward.h).
  bool split_ops = true;
  /// Backward passes write over gradients (reused_gradient.h).
  bool reuse_gradients = true;
  /// Values are kept in fewer bytes (encodings.h).
  bool encode = true;
  /// Tests: evicted CPU bytes are overwritten with NaN patterns before they are given back.
  bool poison = false;
  /// For debugging: evictions that no budget needs.
  Forced forced;
  /// For debugging: each recipe is replayed at once, and what is restored is compared with what was evicted.
  bool verify = false;
  /// Receives the findings, several lines at a time, and whether something is wrong.
  std::function<void(const std::string&, bool wrong)> tell;
  /// Tests: what recipes of this op make has a wrong bit.
  std::string wrong_recipe;
  /// No more is evicted when recomputation took more than this many times the time of the job's own ops. On
  /// CUDA both are computed from sizes, so that it is the same in each iteration and on every rank.
  double thrash_limit = 3.0;
};

}  // namespace stowage::recompute
