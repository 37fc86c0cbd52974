// One CUDA device while Stowage is installed: its port, its session and the counts of its arenas.
//
// Thread safety: as its members'. Never destroyed, since tensors in its arena outlive an uninstall and even
// main().
#pragma once

#include "allocator/arena_counters.h"
#include "plugin/cuda/cuda_port.h"
#include "plugin/session.h"

namespace stowage::plugin {

struct CudaDevice {
  /// `upstream` and `captures` outlive the device.
  CudaDevice(c10::DeviceIndex index_in, CudaPort::Upstream& upstream, const std::atomic<int>& captures,
             const Settings& settings)
      : index(index_in), port(index_in, *this, upstream, captures, settings), session(port, settings) {}

  c10::DeviceIndex index;
  allocator::ArenaCounters counters;
  CudaPort port;
  Session session;
};

}  // namespace stowage::plugin
