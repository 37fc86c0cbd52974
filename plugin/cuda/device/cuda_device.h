// One CUDA device while Stowage is installed: its port, its session and its statistics.
//
// Thread safety: as its members'. Never destroyed, since tensors in its arena outlive an uninstall and even
// main().
#pragma once

#include "plugin/cuda/device/cuda_port.h"
#include "plugin/cuda/device/device_listener.h"
#include "plugin/cuda/device/joint_statistics.h"
#include "plugin/torch/live_torch.h"
#include "session/session.h"

namespace stowage::plugin {

struct CudaDevice {
  /// `listener`, `upstream`, `pools`, `fraction` and `joint` outlive the device. Sessions of one device share
  /// `joint`.
  CudaDevice(c10::DeviceIndex index_in, DeviceListener& listener_in, CudaPort::Upstream& upstream,
             OpenPools& pools, MemoryFraction& fraction, JointStatistics& joint_in,
             const session::Settings& settings)
      : index(index_in),
        listener(listener_in),
        joint(joint_in),
        port(index_in, *this, upstream, pools, fraction, settings),
        session(port, live_torch(), settings) {}

  c10::DeviceIndex index;
  DeviceListener& listener;
  JointStatistics& joint;
  CudaPort port;
  session::Session session;
};

}  // namespace stowage::plugin
