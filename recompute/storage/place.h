// Where room is to be made: on one device, or on all of a type. As c10::Device numbers them, without torch.
// Thread safety: a value.
#pragma once

namespace stowage::recompute {

struct Place {
  int type = 0;    ///< a c10::DeviceType: 0 CPU, 1 CUDA
  int index = -1;  ///< -1: any of that type

  /// True if memory of that device belongs to this place. The CPU's index may be unknown, as there is one.
  [[nodiscard]] bool covers(int device_type, int device_index) const {
    return type == device_type && (index < 0 || device_index < 0 || index == device_index);
  }
  /// The same of a c10::Device.
  template <class Device>
  [[nodiscard]] bool covers(const Device& device) const {
    return covers(static_cast<int>(device.type()), device.index());
  }
};

}  // namespace stowage::recompute
