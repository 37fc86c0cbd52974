#include "simulator/device/machine.h"

#include <atomic>

#include "simulator/device/api_scope.h"
#include "simulator/device/fault.h"
#include "simulator/device/memory/misuse.h"

namespace stowage::simulator {
namespace {

constexpr std::uint32_t kLaunchKernel = 211;  // CUPTI's id of cudaLaunchKernel

std::atomic<bool> made{false};

}  // namespace

bool Machine::in_use() { return made; }

Machine& Machine::get() {
  static Machine* const kMachine = [] {
    auto* const machine = new Machine(settings());
    install_fault_reporter();
    made = true;
    return machine;
  }();
  return *kMachine;
}

Machine::Machine(const Settings& settings) : timeline(settings.devices) {
  for (int device = 0; device < settings.devices; ++device) {
    memories_.push_back(std::make_unique<DeviceMemory>(device, settings.memory_bytes));
  }
}

int Machine::device_of(std::uintptr_t address) const {
  for (std::size_t device = 0; device < memories_.size(); ++device) {
    if (memories_[device]->owns(address)) return static_cast<int>(device);
  }
  return -1;
}

DeviceMemory* Machine::memory_of(std::uintptr_t address) {
  const int device = device_of(address);
  return device < 0 ? nullptr : &memory(device);
}

stowage_sim_counters_t Machine::snapshot() const {
  stowage_sim_counters_t seen = counts;
  seen.host_ns = timeline.host_ns();
  for (int device = 0; device < devices(); ++device) {
    const DeviceMemory& memory = *memories_[static_cast<std::size_t>(device)];
    seen.used_bytes += static_cast<std::int64_t>(memory.used_bytes());
    seen.peak_bytes += static_cast<std::int64_t>(memory.peak_bytes());
    seen.device_ns = std::max(seen.device_ns, timeline.device_done_ns(device));
  }
  return seen;
}

void Machine::reset_counts() {
  counts = {};
  for (auto& memory : memories_) memory->reset_peak();
}

int& current_device() {
  thread_local int device = 0;
  return device;
}

Stream* stream_of(Machine& machine, const void* handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value <= 1) return machine.timeline.legacy_stream(current_device());
  if (value == 2) return machine.timeline.per_thread_stream(current_device());
  auto* const stream = static_cast<Stream*>(const_cast<void*>(handle));
  return machine.timeline.is_stream(stream) ? stream : nullptr;
}

VirtualNs enqueue(Machine& machine, Stream* stream, VirtualNs cost_ns, Work work) {
  work.end = machine.timeline.enqueue(stream, cost_ns);
  ActivitySink* const sink = activity_sink();
  if (sink == nullptr) return work.end;
  work.begin = work.end - cost_ns;
  work.device = stream->device;
  work.stream = stream->id;
  work.correlation = current_call().correlation;
  sink->add(work);
  return work.end;
}

// A library launches through the runtime.
CUresult launch_on(const void* stream_handle, VirtualNs cost_ns, const char* name) {
  const ApiScope scope(ApiDomain::kRuntime, kLaunchKernel, "cudaLaunchKernel_v7000");
  Call call;
  Stream* const stream = stream_of(*call, stream_handle);
  if (stream == nullptr) return misuse(CUDA_ERROR_INVALID_HANDLE, "launch on a stream that does not live");
  call->counts.launches += 1;
  if (stream->capture != nullptr) {
    add_node(*stream->capture, {name, false, 0, cost_ns});
    return CUDA_SUCCESS;
  }
  given().clear();
  enqueue(*call, stream, cost_ns, {.kind = WorkKind::kKernel, .name = name});
  return CUDA_SUCCESS;
}

CUresult launch_graph_on(const void* stream_handle, const Graph& graph) {
  Call call;
  Stream* const stream = stream_of(*call, stream_handle);
  if (stream == nullptr) return misuse(CUDA_ERROR_INVALID_HANDLE, "launch on a stream that does not live");
  call->counts.launches += 1;
  given().clear();
  std::uint64_t number = 0;
  for (const GraphNode& node : graph.nodes) {
    Work work{
        .kind = node.copies ? WorkKind::kCopy : WorkKind::kKernel, .name = node.name, .bytes = node.bytes};
    work.graph = graph.id;
    work.node = ++number;
    enqueue(*call, stream, node.cost_ns, work);
  }
  return CUDA_SUCCESS;
}

CUresult unsafe_in_captures(Machine& machine, const char* call) {
  if (!machine.captures.break_reachable()) return CUDA_SUCCESS;
  return misuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s while a graph is captured", call);
}

CUresult unsafe_on_stream(const Stream* stream, const char* call) {
  if (stream->capture == nullptr) return CUDA_SUCCESS;
  stream->capture->broken = true;
  return misuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s on a stream that captures a graph", call);
}

void synchronize(Machine& machine, VirtualNs instant, const Stream* stream) {
  const VirtualNs before = machine.timeline.host_ns();
  machine.timeline.wait_until(instant);
  machine.counts.synchronizations += 1;
  if (ActivitySink* const sink = activity_sink())
    sink->add(Wait{before, machine.timeline.host_ns(), stream != nullptr ? stream->id : 0, current_call()});
}

void note_memory(Machine& machine, bool allocates, const void* address, std::uint64_t bytes, int device) {
  if (ActivitySink* const sink = activity_sink())
    sink->add(MemoryOperation{allocates, reinterpret_cast<std::uintptr_t>(address), bytes, device,
                              machine.timeline.host_ns(), current_call().correlation});
}

}  // namespace stowage::simulator
