// The address that evicted storages point to: a range that cannot be read or written.
//
// A read that no hook saw then faults immediately, and a message on standard error explains the fault: it
// says that an evicted tensor was touched, before the previous signal handler runs. Thread safety: any
// thread.
#pragma once

#include <cstddef>

#include "core/result.h"

namespace stowage::recompute {

/// Reserves the range, once per process. Error: kUnsupported where the system refuses that many addresses.
Status reserve_guard_range();
/// Where an evicted storage points. Requires: reserve_guard_range() succeeded.
void* guard_address() noexcept;
/// True if the range is as long as `bytes`: a larger storage is not evicted.
bool guard_covers(std::size_t bytes) noexcept;

}  // namespace stowage::recompute
