// What an op on a CUDA device costs, computed from its sizes alone.
//
// Host time does not measure a kernel, and a measured time would differ between ranks: with these figures
// all ranks choose the same evictions, in every iteration. The model: a launch, the bytes read and written at
// the speed of memory, and the arithmetic of matrix products, convolutions and attention at the speed of a
// device: of an A100, about, whose tensor cores do ten times as much in 16 bits. The order of ops matters
// most, and within a small factor the ratio to copies over PCI Express. Thread safety: a pure function.
#pragma once

#include <cstdint>

#include "recompute/recipe/signature.h"

namespace stowage::recompute {

/// The least that a kernel costs.
constexpr std::uint64_t kLaunchNs = 5'000;

/// In ns, above 0. `made_bytes`: of the storages that the op makes.
std::uint64_t modelled_cost_ns(const Signature& signature, std::uint64_t made_bytes);

}  // namespace stowage::recompute
