// libnccl stand-in: only what import needs. Communicators are refused (generated stubs): one simulated
// machine cannot talk to another.
#include "simulator/stand_ins/api.h"

namespace {
constexpr int kNcclVersion = 22800;  // 2.28.0
}

SIM_API int ncclGetVersion(int* version) {
  *version = kNcclVersion;
  return 0;
}
SIM_API const char* ncclGetErrorString(int) { return "NCCL is not simulated"; }
SIM_API const char* ncclGetLastError(void*) { return "NCCL is not simulated"; }
