// libcudart stand-in: devices, versions, peer access, profiler switches.
#include <cstdio>
#include <cstring>

#include "simulator/device/settings/attributes.h"
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

SIM_API cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return cudaSuccess;
}

SIM_API cudaError_t cudaGetDevice(int* device) {
  SIM_RUNTIME_CALL(cudaGetDevice_v3020);
  *device = current_device();
  return cudaSuccess;
}

SIM_API cudaError_t cudaSetDevice(int device) {
  SIM_RUNTIME_CALL(cudaSetDevice_v3020);
  if (!is_device(device)) return answered(cudaErrorInvalidDevice);
  current_device() = device;
  return cudaSuccess;
}

SIM_API cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return is_device(device) ? cudaSuccess : answered(cudaErrorInvalidDevice);
}

SIM_API cudaError_t cudaDeviceSynchronize() {
  SIM_RUNTIME_CALL(cudaDeviceSynchronize_v3020);
  Call call;
  if (const auto wrong = unsafe_in_captures(*call, "cudaDeviceSynchronize")) return answered(wrong);
  synchronize(*call, call->timeline.device_done_ns(current_device()));
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }

SIM_API cudaError_t cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return cudaSuccess;
}

SIM_API cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

SIM_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_device(device)) return answered(cudaErrorInvalidDevice);
  describe(device, properties);
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!is_device(device)) return answered(cudaErrorInvalidDevice);
  *value = attribute_of(device, attribute);
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_device(device)) return answered(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", kPciBus + device);
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit) {
  *value = 1024;
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return answered(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return is_device(peer) && peer != current_device() ? cudaSuccess : answered(cudaErrorInvalidDevice);
}

SIM_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return is_device(peer) ? cudaSuccess : answered(cudaErrorInvalidDevice);
}

SIM_API cudaError_t cudaProfilerStart() { return cudaSuccess; }
SIM_API cudaError_t cudaProfilerStop() { return cudaSuccess; }
