// Finds the way back to a known sequence of ops after a few that differ: a logged value, an augmentation of
// random size, a metric computed now and then.
//
// From the first op on that is not the known one, the ops that come are compared with those that were to
// come: once the last few are alike there, the iteration goes on behind them. What came instead, or was left
// out, is passed over. That is bounded, so that an iteration of another kind is told from one that differs a
// little.
//
// Thread safety: none; the caller's. It knows nothing of torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "recompute/schedule/recent_ops.h"

namespace stowage::recompute {

class Detour {
 public:
  using Shapes = std::vector<std::uint64_t>;
  static constexpr std::size_t kAlike = 4;  ///< ops in a row that must be alike
  static constexpr std::size_t kMost = 64;  ///< ops that come instead, or are left out
  static constexpr std::size_t kShare = 8;  ///< 1/this of an iteration's ops may differ in all

  /// An iteration begins.
  void begin_iteration();
  /// The iteration is beside the known ops now.
  [[nodiscard]] bool is_on() const { return on_; }

  struct Way {
    std::size_t op;    ///< where the present op stands in the known ops
    std::size_t made;  ///< buffers that there were when the first op that is alike began, as told to pass()
  };
  /// The iteration does not have `known`[`from`] next, but an op of `shape`; `made`: buffers that its ops
  /// made so far. The way back, with the present op; nullopt: not yet, or never, as is_lost() says.
  std::optional<Way> pass(std::uint64_t shape, std::size_t made, const Shapes& known, std::size_t from);
  /// Too many ops differ.
  [[nodiscard]] bool is_lost() const { return lost_; }
  /// The iteration ends, at `from` of `known`: no more differs than may.
  [[nodiscard]] bool ends_well(const Shapes& known, std::size_t from) const;

 private:
  [[nodiscard]] std::size_t most(const Shapes& known) const;

  std::vector<BegunOp> passed_;
  std::size_t differing_ = 0;  ///< ops in this iteration, but for those of the present detour
  bool on_ = false;
  bool lost_ = false;
};

}  // namespace stowage::recompute
