// Which device: its kind, and its number among those of that kind. Spelled as torch spells it.
//
// Thread safety: a value.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace stowage {

enum class DeviceKind : std::uint8_t { kCpu = 0, kCuda = 1 };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  std::uint32_t index = 0;  ///< 0 for the CPU
  friend auto operator<=>(const Device&, const Device&) = default;
};

/// "cpu" or "cuda".
const char* to_string(DeviceKind kind);
/// "cpu", "cuda:0", "cuda:1".
std::string to_string(const Device& device);

}  // namespace stowage
