// In-place ops for whose gradient autograd keeps a copy of what they write over: ReLU6, SiLU and hardswish
// with `inplace=True`, products. It makes the copy in its own kernel, with a call of clone() that no op
// returns.
//
// The list follows from derivatives.yaml: ops whose gradient reads `self` (recompute_copied_self_test derives
// it from there).
#pragma once

#include <ATen/core/function_schema.h>

#include <array>

#include "recompute/ops/schema_names.h"

namespace stowage::recompute {

inline constexpr std::array kCopyingSelf = {Name("abs_"),
                                            Name("acos_"),
                                            Name("asin_"),
                                            Name("atan2_"),
                                            Name("atan_"),
                                            Name("clamp_"),
                                            Name("clamp_max_"),
                                            Name("clamp_min_"),
                                            Name("copysign_"),
                                            Name("cos_"),
                                            Name("cosh_"),
                                            Name("cumprod_"),
                                            Name("digamma_"),
                                            Name("div_"),
                                            Name("erf_"),
                                            Name("erfc_"),
                                            Name("erfinv_"),
                                            Name("fmod_"),
                                            Name("gelu_"),
                                            Name("hardsigmoid_"),
                                            Name("hardswish_"),
                                            Name("hardtanh_"),
                                            Name("hypot_"),
                                            Name("i0_"),
                                            Name("igamma_"),
                                            Name("igammac_"),
                                            Name("index_reduce_"),
                                            Name("lerp_"),
                                            Name("lgamma_"),
                                            Name("log10_"),
                                            Name("log1p_"),
                                            Name("log2_"),
                                            Name("log_"),
                                            Name("logit_"),
                                            Name("mish_"),
                                            Name("mul_"),
                                            Name("mvlgamma_"),
                                            Name("nan_to_num_"),
                                            Name("polygamma_"),
                                            Name("pow_"),
                                            Name("remainder_"),
                                            Name("renorm_"),
                                            Name("scatter_reduce_"),
                                            Name("sgn_"),
                                            Name("silu_"),
                                            Name("sin_"),
                                            Name("sinc_"),
                                            Name("sinh_"),
                                            Name("threshold_"),
                                            Name("xlogy_")};

inline bool copies_self(const c10::FunctionSchema& schema) { return among(kCopyingSelf, plain_name(schema)); }

}  // namespace stowage::recompute
