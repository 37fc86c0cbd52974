// Hears every ATen operator call of the process and tells the recorders of the devices concerned.
//
// An op goes to the recorder of the device that it works on: that of its tensors or its device argument, an
// accelerator before the CPU. Composite ops are recorded as parents of what they call; autograd nodes are not
// ops, they only make what runs under them backward. Nothing here allocates tensors, draws random numbers or
// throws; no tensor is kept alive. While no device is observed, ops pay nothing.
//
// Thread safety: from any thread. An op that is under way when its device is removed still tells the old
// recorder.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>

#include "core/units.h"
#include "tracer/clocks/op_clock.h"
#include "tracer/recorder/recorder.h"

namespace stowage::tracer {

/// Where the ops of one device go.
struct OpRoute {
  std::shared_ptr<Recorder> recorder;
  std::shared_ptr<OpClock> clock;            ///< null: the host's time around the call
  std::function<StreamId()> current_stream;  ///< of the calling thread; empty: always stream 0
};

/// From now on ops on `device` go to `route`, in place of an earlier one. Requires: route.recorder is set.
void start_observing_ops(c10::Device device, OpRoute route);

/// No op on `device` that begins after this returns is recorded. Unknown devices are ignored.
void stop_observing_ops(c10::Device device);

/// True if the calling thread is inside a recorded op on lists of tensors (aten::_foreach_…), as optimizers
/// use.
[[nodiscard]] bool in_foreach_op() noexcept;

/// Passes what `clock` knows by now to `recorder`. Call before Recorder::snapshot on an accelerator.
/// `may_wait`: the device may be waited for, so that it knows all.
void read_clock(OpClock& clock, Recorder& recorder, bool may_wait);

}  // namespace stowage::tracer
