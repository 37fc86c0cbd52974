// What a device tells of, upwards: the allocator in front of it listens.
//
// Thread safety: every member, from any thread.
#pragma once

namespace stowage::plugin {

class MemoryHistory;

class DeviceListener {
 public:
  virtual ~DeviceListener() = default;
  /// PyTorch's memory history, which is to hold what happens to arenas and their blocks.
  virtual MemoryHistory& history() = 0;
  /// The device's session gave up: it is off, and must not cost the job anything from now on. May
  /// synchronise.
  virtual void on_session_off() = 0;
};

}  // namespace stowage::plugin
