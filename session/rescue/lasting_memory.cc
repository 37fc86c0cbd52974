#include "session/rescue/lasting_memory.h"

#include <string>

#include "session/settings/notice.h"

namespace stowage::session {

bool LastingMemory::gather(Bytes wanted) {
  const ScheduleController& schedule = budget_.schedule();
  if (!schedule.is_steady() || !budget_.between_ops() || schedule.number() == gathered_for_) return false;
  const UpstreamUse before = port_.upstream_use();
  if (before.cached() < wanted) return false;
  gathered_for_ = schedule.number();
  Bytes moved(0);
  if (!port_.gather_lasting([&] { moved = torch_.gather_lasting(device_); })) return false;
  note(2, "budget: " + std::to_string(moved.value()) +
              " bytes of tensors that last were moved together, which left " +
              std::to_string(port_.upstream_use().reserved.value()) + " bytes of " +
              std::to_string(before.reserved.value()) + " reserved");
  return true;
}

}  // namespace stowage::session
