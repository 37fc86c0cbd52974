// What work costs in virtual time. Rules of thumb, not a model of any GPU: they only have to be plausible in
// order of magnitude and the same everywhere. Thread safety: pure functions of the settings.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/device/settings/settings.h"
#include "simulator/device/time/timeline.h"

namespace stowage::simulator {

/// `amount` at `per_ms` per millisecond, in nanoseconds, without overflow for any 64-bit amount.
inline VirtualNs at_rate(std::uint64_t amount, double per_ms) {
  return static_cast<VirtualNs>(std::min(static_cast<double>(amount) / per_ms * 1e6, 1e15));
}

/// A kernel of `threads` threads, each of which is taken to move 16 bytes.
inline VirtualNs kernel_cost(std::uint64_t threads) {
  return std::max(settings().launch_ns,
                  at_rate(threads * 16, static_cast<double>(settings().device_mbps) * 1e3));
}

/// A matrix product or convolution of `flops` floating point operations.
inline VirtualNs product_cost(std::uint64_t flops) {
  return std::max(settings().launch_ns, at_rate(flops, static_cast<double>(settings().gflops) * 1e6));
}

/// A copy of `bytes` inside a device, or over the link when `over_link`.
inline VirtualNs copy_cost(std::uint64_t bytes, bool over_link) {
  const auto mbps = over_link ? settings().host_link_mbps : settings().device_mbps;
  return settings().launch_ns / 2 + at_rate(bytes, static_cast<double>(mbps) * 1e3);
}

}  // namespace stowage::simulator
