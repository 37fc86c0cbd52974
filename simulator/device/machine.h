// The simulated machine: its devices' memory, its clocks, its pinned host memory and its counters, behind one
// lock.
//
// Why one lock: the calls are short (tens of nanoseconds), the job's threads rarely collide, and the order of
// virtual time needs a single writer anyway. Thread safety: everything but the statics is reached through a
// Call.
#pragma once

#include <cuda.h>

#include <memory>
#include <mutex>
#include <vector>

#include "simulator/device/activity/activity.h"
#include "simulator/device/counters.h"
#include "simulator/device/memory/contents.h"
#include "simulator/device/memory/device_memory.h"
#include "simulator/device/memory/host_memory.h"
#include "simulator/device/settings/settings.h"
#include "simulator/device/time/graph.h"
#include "simulator/device/time/timeline.h"

namespace stowage::simulator {

class Machine {
 public:
  /// The process's machine, built from settings() at the first use. It is never destroyed: jobs free device
  /// memory from static destructors, in any order.
  static Machine& get();
  /// Whether this process has used its machine. False in the shells and tools that a job's environment
  /// reaches too.
  static bool in_use();
  explicit Machine(const Settings& settings);

  /// The memory that `address` belongs to, or null for a host address.
  DeviceMemory* memory_of(std::uintptr_t address);
  DeviceMemory& memory(int device) { return *memories_[static_cast<std::size_t>(device)]; }
  int device_of(std::uintptr_t address) const;
  int devices() const { return static_cast<int>(memories_.size()); }

  /// The counters as seen now, byte totals and clocks included.
  stowage_sim_counters_t snapshot() const;
  void reset_counts();

  Timeline timeline;
  HostMemory host_memory;
  Contents contents;
  Captures captures;
  stowage_sim_counters_t counts{};
  std::mutex lock;

 private:
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
};

/// One call of the simulated API: holds the machine's lock and costs the host its time.
class Call {
 public:
  Call() : machine_(Machine::get()), guard_(machine_.lock) {
    machine_.timeline.pass_host_time(settings().host_call_ns);
  }
  Machine* operator->() { return &machine_; }
  Machine& operator*() { return machine_; }
  void unlock() { guard_.unlock(); }

 private:
  Machine& machine_;
  std::unique_lock<std::mutex> guard_;
};

/// The calling thread's device; 0 until it chooses another.
int& current_device();

/// The stream behind an API handle: null and 1 are the legacy default stream of the current device, 2 the
/// per-thread one. Null for a handle that is no live stream.
Stream* stream_of(Machine& machine, const void* handle);

/// Puts a kernel of `cost_ns` on the stream, or into the graph that this captures. `name`: static text, for
/// profilers. Returns CUDA_ERROR_INVALID_HANDLE for a dead stream.
CUresult launch_on(const void* stream_handle, VirtualNs cost_ns, const char* name);
/// Puts all nodes of a graph on the stream, one after the other. Errors as launch_on().
CUresult launch_graph_on(const void* stream_handle, const Graph& graph);

/// Puts `work` on the stream and tells profilers of it; `work` says what it is, its times are set here.
/// Returns when it will be done.
VirtualNs enqueue(Machine& machine, Stream* stream, VirtualNs cost_ns, Work work);

/// CUDA_SUCCESS, or an error where a graph is captured that does not survive `call`.
CUresult unsafe_in_captures(Machine& machine, const char* call);
/// The same for a call that waits for this stream or asks how far it is.
CUresult unsafe_on_stream(const Stream* stream, const char* call);

/// Waits, in virtual time, until `instant`. `stream`: that is waited for; null: the device or an event.
void synchronize(Machine& machine, VirtualNs instant, const Stream* stream = nullptr);
/// Tells profilers of device memory that came or went.
void note_memory(Machine& machine, bool allocates, const void* address, std::uint64_t bytes, int device);

}  // namespace stowage::simulator
