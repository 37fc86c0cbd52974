// The job's frees: at once, or deferred until other streams have passed the block's use (stream_uses.h).
//
// Thread safety: every member, from any thread; takes no lock of its own.
#pragma once

#include <vector>

#include "session/arena/served_arena.h"
#include "session/arena/session_hot.h"
#include "session/ports/device_port.h"

namespace stowage::session {

class Frees {
 public:
  /// All must outlive it.
  Frees(SessionHot& hot, DevicePort& port, ServedArena& arena) : hot_(hot), port_(port), arena_(arena) {}

  /// The job frees `address`: tells the recorder, the arena and, if it watches blocks, the port. True if it
  /// is the arena's.
  bool free(void* address);
  /// Completes the deferred frees whose streams have passed. Never blocks.
  void complete();
  /// Completes the deferred frees in the arena; waits for their streams.
  void finish();

 private:
  void free_later(void* address, bool in_arena, const std::vector<StreamId>& streams);
  void tell(void* address, bool completed);
  void meter(void* address);

  SessionHot& hot_;
  DevicePort& port_;
  ServedArena& arena_;
};

}  // namespace stowage::session
