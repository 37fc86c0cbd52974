// Torch's global settings that decide which bits an op gives: a recipe holds only under those it was made
// under.
//
// Thread safety: as torch's own settings, which the job must not change while another thread runs ops.
#pragma once

#include <ATen/Context.h>
#include <c10/core/ScalarType.h>

namespace stowage::recompute {

struct Environment {
  int threads = 0;
  bool deterministic = false;
  bool deterministic_warns = false;
  bool deterministic_cudnn = false;
  bool benchmark_cudnn = false;
  bool mkldnn = false;
  at::Float32MatmulPrecision precision = at::Float32MatmulPrecision::HIGHEST;
  c10::ScalarType default_type = c10::ScalarType::Float;

  static Environment present();
  /// Makes them the present ones.
  void apply() const;
  bool operator==(const Environment&) const = default;
};

}  // namespace stowage::recompute
