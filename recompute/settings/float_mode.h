// How the processor's floating-point unit rounds and what it does with denormal numbers: part of what an op's
// bits depend on (torch.set_flush_denormal, fesetround).
//
// The mode belongs to a thread. A thread of the pool that kernels run on has the one that the thread that
// started the pool had then, so it may differ from the mode of the thread that runs the op. As long as no
// thread was ever seen in another mode than the usual one, the pool is not checked.
//
// Thread safety: any thread; each sees its own mode and that of its own pool.
#pragma once

#include <cstdint>
#include <vector>

namespace stowage::recompute {

/// The control bits of one thread; the same number, the same mode.
using FloatControl = std::uint32_t;

struct FloatMode {
  FloatControl caller = 0;
  FloatControl pool = 0;  ///< of all other threads that share the op's work; kMixed: they differ
  static constexpr FloatControl kMixed = ~FloatControl{0};

  /// Of the calling thread and its pool.
  static FloatMode present();
  bool operator==(const FloatMode&) const = default;
};

/// While it lives the calling thread and its pool are in `wanted`, after that as before. Requires:
/// wanted.pool is not kMixed.
class UnderFloatMode {
 public:
  explicit UnderFloatMode(FloatMode wanted);
  UnderFloatMode(const UnderFloatMode&) = delete;
  UnderFloatMode& operator=(const UnderFloatMode&) = delete;
  ~UnderFloatMode();

 private:
  FloatControl caller_before_;
  std::vector<FloatControl> pool_before_;  ///< by thread; empty: the pool was left alone
};

}  // namespace stowage::recompute
