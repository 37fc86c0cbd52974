// Which clock times the ops of a CUDA device: CUPTI where the times are wanted and it works, else events.
//
// CUPTI takes memory and a moment, and what it costs afterwards depends on its version. So by default it is
// used only where op times decide something or are shown: under a budget, and for a trace that is written
// to a file.
//
// Thread safety: any thread.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "plugin/cuda/upstream/open_pools.h"
#include "session/settings/settings.h"
#include "tracer/clocks/op_clock.h"

namespace stowage::plugin {

/// A clock for device `index`. `pools` are the device's and outlive it. `decides`: op times decide what is
/// recomputed, under a budget. Where CUPTI is wanted and does not
/// work, one warning says why. Requires: CUDA is initialised.
std::shared_ptr<tracer::OpClock> make_device_clock(c10::DeviceIndex index, OpenPools& pools,
                                                   const session::Settings& settings, bool decides);

/// Another client of CUPTI is about to begin: CUPTI is left to it, and events time what comes.
void leave_cupti() noexcept;

}  // namespace stowage::plugin
