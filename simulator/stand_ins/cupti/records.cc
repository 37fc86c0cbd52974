#include "simulator/stand_ins/cupti/records.h"

#include <unistd.h>

namespace stowage::simulator {
namespace {

#if CUPTI_API_VERSION >= 130202
using Kernel = CUpti_ActivityKernel11;
#elif CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
#else
using Kernel = CUpti_ActivityKernel9;
#endif

constexpr auto kUnknownKind = static_cast<CUpti_ActivityKind>(4711);
constexpr std::size_t kUnknownBytes = 64;

template <class Struct>
RawRecord raw(const Struct& record) {
  static_assert(sizeof record <= RawRecord::kMost);
  RawRecord made;
  std::memcpy(made.bytes.data(), &record, sizeof record);
  made.size = sizeof record;
  return made;
}

std::uint32_t context_of(int device) { return static_cast<std::uint32_t>(device) + 1; }

// How cudaMemcpyKind is called in CUPTI.
std::uint8_t copy_kind_of(std::uint8_t kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    case cudaMemcpyDeviceToHost:
      return CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    case cudaMemcpyDeviceToDevice:
      return CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    default:
      return CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
  }
}

RawRecord kernel_record(const Work& work, std::uint64_t begin, std::uint64_t end) {
  Kernel kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = begin;
  kernel.end = end;
  kernel.completed = end;
  kernel.deviceId = static_cast<std::uint32_t>(work.device);
  kernel.contextId = context_of(work.device);
  kernel.streamId = static_cast<std::uint32_t>(work.stream);
  kernel.gridX = kernel.gridY = kernel.gridZ = kernel.blockX = kernel.blockY = kernel.blockZ = 1;
  kernel.correlationId = work.correlation;
  kernel.name = work.name;
  kernel.graphId = static_cast<std::uint32_t>(work.graph);
  kernel.graphNodeId = work.node;
  return raw(kernel);
}

template <class Copy>
Copy copied(const Work& work, CUpti_ActivityKind kind, std::uint64_t begin, std::uint64_t end) {
  Copy copy{};
  copy.kind = kind;
  copy.bytes = work.bytes;
  copy.start = begin;
  copy.end = end;
  copy.deviceId = static_cast<std::uint32_t>(work.device);
  copy.contextId = context_of(work.device);
  copy.streamId = static_cast<std::uint32_t>(work.stream);
  copy.correlationId = work.correlation;
  copy.graphId = static_cast<std::uint32_t>(work.graph);
  copy.graphNodeId = work.node;
  return copy;
}

CUpti_ActivitySynchronizationType type_of(const ApiCall& cause) {
  switch (cause.id) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
    case CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    default:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  }
}

}  // namespace

std::size_t record_size(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return sizeof(Kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    default:
      return 0;
  }
}

CUpti_ActivityKind kind_of(const Work& work) {
  switch (work.kind) {
    case WorkKind::kCopy:
      return CUPTI_ACTIVITY_KIND_MEMCPY;
    case WorkKind::kPeerCopy:
      return CUPTI_ACTIVITY_KIND_MEMCPY2;
    case WorkKind::kFill:
      return CUPTI_ACTIVITY_KIND_MEMSET;
    case WorkKind::kKernel:
      break;
  }
  return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

RawRecord call_record(const ApiCall& call, std::uint64_t begin, std::uint64_t end, std::uint32_t thread) {
  CUpti_ActivityAPI api{};
  api.kind = call.domain == ApiDomain::kRuntime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  api.cbid = call.id;
  api.start = begin;
  api.end = end;
  api.processId = static_cast<std::uint32_t>(getpid());
  api.threadId = thread;
  api.correlationId = call.correlation;
  return raw(api);
}

RawRecord external_record(CUpti_ExternalCorrelationKind kind, std::uint64_t id, std::uint32_t correlation) {
  CUpti_ActivityExternalCorrelation external{};
  external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  external.externalKind = kind;
  external.externalId = id;
  external.correlationId = correlation;
  return raw(external);
}

RawRecord work_record(const Work& work, std::uint64_t begin, std::uint64_t end) {
  switch (work.kind) {
    case WorkKind::kKernel:
      return kernel_record(work, begin, end);
    case WorkKind::kPeerCopy:
      return raw(copied<CUpti_ActivityMemcpyPtoP4>(work, CUPTI_ACTIVITY_KIND_MEMCPY2, begin, end));
    case WorkKind::kFill:
      return raw(copied<CUpti_ActivityMemset4>(work, CUPTI_ACTIVITY_KIND_MEMSET, begin, end));
    case WorkKind::kCopy:
      break;
  }
  auto copy = copied<CUpti_ActivityMemcpy6>(work, CUPTI_ACTIVITY_KIND_MEMCPY, begin, end);
  copy.copyKind = copy_kind_of(work.copy_kind);
  return raw(copy);
}

RawRecord wait_record(const Wait& wait, std::uint64_t begin, std::uint64_t end) {
  CUpti_ActivitySynchronization2 made{};
  made.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  made.type = type_of(wait.cause);
  made.start = begin;
  made.end = end;
  made.correlationId = wait.cause.correlation;
  made.contextId = context_of(0);
  made.streamId = static_cast<std::uint32_t>(wait.stream);
  return raw(made);
}

RawRecord memory_record(const MemoryOperation& operation, std::uint64_t at) {
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = operation.allocates ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                   : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.correlationId = operation.correlation;
  memory.address = operation.address;
  memory.bytes = operation.bytes;
  memory.timestamp = at;
  memory.processId = static_cast<std::uint32_t>(getpid());
  memory.deviceId = static_cast<std::uint32_t>(operation.device);
  memory.contextId = context_of(operation.device);
  return raw(memory);
}

RawRecord unknown_record() {
  RawRecord record;
  std::memcpy(record.bytes.data(), &kUnknownKind, sizeof kUnknownKind);
  record.size = kUnknownBytes;
  return record;
}

}  // namespace stowage::simulator
