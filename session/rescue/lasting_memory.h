// Has what outlives iterations moved close together under a schedule: optimizer state that was born
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

  /// At a mark: moves it beside the arena, where there is one, but for what the schedule offloads in each
  /// iteration. Nothing happens before that was followed once: it is not known what that is.
  void gather();
  /// The same, for the first time under the present schedule.
  void gather_once();

 private:
  BudgetController& budget_;
  DevicePort& port_;
  TorchPort& torch_;
  const Device device_;
  std::optional<std::uint64_t> gathered_for_;  ///< ScheduleController::number()
};

}  // namespace stowage::session
