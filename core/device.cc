#include "core/device.h"

namespace stowage {

const char* to_string(DeviceKind kind) { return kind == DeviceKind::kCuda ? "cuda" : "cpu"; }

std::string to_string(const Device& device) {
  const std::string kind = to_string(device.kind);
  return device.kind == DeviceKind::kCpu ? kind : kind + ":" + std::to_string(device.index);
}

}  // namespace stowage
