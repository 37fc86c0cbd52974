#include "session/rescue/lasting_memory.h"

#include <string>

#include "session/settings/notice.h"

namespace stowage::session {

void LastingMemory::gather_once() {
  if (budget_.schedule().number() != gathered_for_) gather();
}

void LastingMemory::gather() {
  const ScheduleController& schedule = budget_.schedule();
  if (!schedule.is_steady() || !budget_.between_ops()) return;
  gathered_for_ = schedule.number();
  const Bytes before = port_.upstream_use().reserved;
  Bytes moved(0);
  if (!port_.gather_lasting([&] { moved = torch_.gather_lasting(device_); })) return;
  note(2, "budget: " + std::to_string(moved.value()) +
              " bytes of tensors that last were moved together, which left " +
              std::to_string(port_.upstream_use().reserved.value()) + " bytes of " +
              std::to_string(before.value()) + " reserved");
}

}  // namespace stowage::session
