// Torch's global settings that decide which bits an op gives. A kind of calls names those that its calls run
// under, and they hold again while one of them runs again, whatever the job has set since.
//
// How exact float32 products are is a setting of its own for convolutions, recurrent layers and all other
// products, on the CPU (oneDNN) and on CUDA (cuBLAS, cuDNN). An op obeys one of these at most; only that one
// is looked at, as looking costs more than all else here.
//
// Thread safety: as torch's own settings, which the job must not change while another thread runs ops.
#pragma once

#include <ATen/Context.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

#include "recompute/op_lists.h"

namespace stowage::recompute {

/// What an op obeys: the settings of the CPU or of CUDA, and which of float32 products.
struct Obeyed {
  Products products = Products::kNone;
  bool cuda = false;
};

struct Environment {
  std::int32_t threads = 0;
  c10::ScalarType default_type = c10::ScalarType::Float;
  at::Float32Precision precision = at::Float32Precision::NONE;  ///< of what the op obeys
  bool deterministic = false;
  bool deterministic_warns = false;
  bool library = false;  ///< oneDNN or cuDNN may be used
  bool deterministic_library = false;
  bool benchmarks = false;  ///< cuDNN's choice of kernels

  /// Those that hold now for an op that obeys `obeyed`.
  static Environment present(Obeyed obeyed);
  bool operator==(const Environment&) const = default;
};

/// While it lives `wanted` holds, after that what held before.
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
};

}  // namespace stowage::recompute
