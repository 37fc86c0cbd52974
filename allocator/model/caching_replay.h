// Drives a whole trace through a model of PyTorch's allocator.
#pragma once

#include <optional>

#include "allocator/model/caching_model.h"
#include "core/trace.h"
#include "core/units.h"

namespace stowage::allocator {

/// What one way of serving a trace costs.
struct Figures {
  Bytes peak_live{0};  ///< most bytes that were live at once
  Bytes reserved{0};   ///< bytes taken from the device
  /// Share of the reserved bytes that was not live at the peak, in [0, 1].
  [[nodiscard]] double fragmentation() const;
};

/// What PyTorch's allocator would reserve for the job: serves the trace from its first event on, then repeats
/// its steady iteration a dozen times. Nothing where the trace does not begin at the job's first allocation
/// (Trace::from_first_allocation): what is reserved depends on all that came before.
std::optional<Figures> replay_caching(const Trace& trace, CachingModel::Segments segments);

}  // namespace stowage::allocator
