// NVML stand-in (libnvidia-ml.so.1): counts, names and memory of the devices. The wheels bring no nvml.h;
// these are the few declarations of its documented C interface that are needed. A device handle is its
// number, one up.
#include <cstdio>
#include <cstring>

#include "simulator/device/settings/attributes.h"
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;

struct MemoryInfo {
  unsigned long long total, free, used;
};

int device_of_handle(const void* handle) { return static_cast<int>(address_of(handle)) - 1; }

int give_handle(int device, void** handle) {
  if (!is_device(device)) return kInvalidArgument;
  *handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device + 1));
  return kSuccess;
}

}  // namespace

SIM_API int nvmlInit_v2() { return kSuccess; }
SIM_API int nvmlInit() { return kSuccess; }
SIM_API int nvmlShutdown() { return kSuccess; }
SIM_API const char* nvmlErrorString(int) { return "refused by the simulated NVML"; }

SIM_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = kDriverVersion;
  return kSuccess;
}

SIM_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(settings().devices);
  return kSuccess;
}

SIM_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  return give_handle(static_cast<int>(index), handle);
}

SIM_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
  unsigned domain = 0;
  unsigned bus = 0;
  if (std::sscanf(bus_id, "%x:%x", &domain, &bus) != 2) return kInvalidArgument;
  return give_handle(static_cast<int>(bus) - kPciBus, handle);
}

SIM_API int nvmlDeviceGetName(void* handle, char* text, unsigned length) {
  if (!is_device(device_of_handle(handle))) return kInvalidArgument;
  std::snprintf(text, length, "%s", settings().name.c_str());
  return kSuccess;
}

SIM_API int nvmlDeviceGetUUID(void* handle, char* text, unsigned length) {
  if (!is_device(device_of_handle(handle))) return kInvalidArgument;
  std::snprintf(text, length, "GPU-57000000-0000-0000-0000-%012x", device_of_handle(handle));
  return kSuccess;
}

SIM_API int nvmlDeviceGetMemoryInfo(void* handle, MemoryInfo* into) {
  if (!is_device(device_of_handle(handle))) return kInvalidArgument;
  Call call;
  const DeviceMemory& memory = call->memory(device_of_handle(handle));
  *into = {memory.limit_bytes(), memory.limit_bytes() - memory.used_bytes(), memory.used_bytes()};
  return kSuccess;
}

SIM_API int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
  *count = 0;
  return kSuccess;
}

SIM_API int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int*) { return kNotSupported; }
SIM_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return kNotSupported; }

// nvmlGpuFabricInfoV_t: its version, then what a device without a fabric says of it: all zero.
SIM_API int nvmlDeviceGetGpuFabricInfoV(void*, void* info) {
  constexpr std::size_t kBytesOfOldest = 36;
  std::memset(static_cast<char*>(info) + sizeof(unsigned), 0, kBytesOfOldest - sizeof(unsigned));
  return kSuccess;
}
