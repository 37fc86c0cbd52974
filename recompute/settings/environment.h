// Torch's and the processor's settings that decide which bits an op gives. A signature names those that its
// calls run under, and they hold again while one of them runs again, even if the job has changed them.
//
// How exact float32 products are is a setting of its own for convolutions, recurrent layers and all other
// products, on the CPU (oneDNN) and on CUDA (cuBLAS, cuDNN). An op obeys at most one of these; only that one
// is read, as reading it is the most expensive part. All other settings of at::Context are in
// switches.h.
//
// Thread safety: as torch's own settings, which the job must not change while another thread runs ops.
#pragma once

#include <ATen/Context.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>

#include "recompute/settings/float_mode.h"
#include "recompute/settings/switches.h"

namespace stowage::recompute {

struct Environment {
  std::int32_t threads = 0;
  c10::ScalarType default_type = c10::ScalarType::Float;
  at::Float32Precision precision = at::Float32Precision::NONE;  ///< of what the op obeys
  Switches switches{};
  FloatMode float_mode;

  /// Those that hold now for an op that obeys `obeyed`.
  static Environment present(Obeyed obeyed);
  bool operator==(const Environment&) const = default;
  /// False: the pool's threads differ in a way that cannot be reproduced.
  [[nodiscard]] bool can_be_restored() const { return float_mode.pool != FloatMode::kMixed; }
};

/// From now on ops run again with the number of threads that there is.
void keep_number_of_threads() noexcept;

/// While it lives `wanted` holds, after that what held before. Requires: wanted.can_be_restored().
class UnderEnvironment {
 public:
  UnderEnvironment(const Environment& wanted, Obeyed obeyed);
  UnderEnvironment(const UnderEnvironment&) = delete;
  UnderEnvironment& operator=(const UnderEnvironment&) = delete;
  ~UnderEnvironment();

 private:
  const Environment& wanted_;
  const Obeyed obeyed_;
  const Environment before_;
  std::optional<UnderFloatMode> float_mode_;
};

}  // namespace stowage::recompute
