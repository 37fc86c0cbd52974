// Has what outlives iterations moved close together, once under each schedule: optimizer state that was born
// among activations, and what came back from a store wherever there was room, leave little between them that
// is of use, and the less there is for a plan's arena.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>
#include <optional>

#include "core/device.h"
#include "session/budget/budget_controller.h"
#include "session/ports/device_port.h"
#include "session/ports/torch_port.h"

namespace stowage::session {

class LastingMemory {
 public:
  /// All must outlive it.
  LastingMemory(BudgetController& budget, DevicePort& port, TorchPort& torch, Device device)
      : budget_(budget), port_(port), torch_(torch), device_(device) {}

  /// At a mark, while no plan serves and nothing is recorded. True: it was moved now, for the first time
  /// under the present schedule. Under one that was not followed yet, nobody knows what it offloads: that is
  /// not moved.
  /// Nor is it worth it where upstream keeps less than `wanted` bytes that no tensor has.
  bool gather(Bytes wanted = Bytes(0));

 private:
  BudgetController& budget_;
  DevicePort& port_;
  TorchPort& torch_;
  const Device device_;
  std::optional<std::uint64_t> gathered_for_;  ///< ScheduleController::number()
};

}  // namespace stowage::session
