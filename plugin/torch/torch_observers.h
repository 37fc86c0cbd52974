// Ties the sessions to the running torch: optimizer steps mark all sessions, ops go to the recorders that ask
// for them.
//
// Linking this file is enough: the first session of the process starts the watching.
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <functional>

#include "tracer/op_observer.h"

namespace stowage::plugin {

/// Begins for the whole process, if it has not begun. Ends by itself where no session needs marks any more.
void observe_torch();

/// Completes the route of a CUDA device's ops: its clock and its current stream. Set once by the CUDA
/// adaptor.
using CudaRoute = std::function<void(std::uint32_t device_index, tracer::OpRoute& route)>;
void set_cuda_route(CudaRoute complete_route);

}  // namespace stowage::plugin
