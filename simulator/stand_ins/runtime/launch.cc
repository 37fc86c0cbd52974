// libcudart stand-in: kernel launches. A kernel does nothing but take its stream's time.
#include <cstring>
#include <vector>

#include "simulator/device/kernels/kernels.h"
#include "simulator/device/pointers.h"
#include "simulator/device/settings/attributes.h"
#include "simulator/device/time/costs.h"
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

struct LaunchConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// kernel<<<…>>> pushes here and the kernel's generated stub pops; they nest when an argument launches a
// kernel.
std::vector<LaunchConfiguration>& pushed() {
  thread_local std::vector<LaunchConfiguration> stack;
  return stack;
}

std::uint64_t count(dim3 size) { return std::uint64_t{size.x} * size.y * size.z; }

cudaError_t launch(const void* function, void** arguments, dim3 grid, dim3 block, cudaStream_t stream) {
  if (const auto wrong = check_arguments(function, arguments, count(grid))) return answered(wrong);
  return answered(launch_on(stream, kernel_cost(count(grid) * count(block)), kernel_name(function)));
}

int blocks_per_multiprocessor(int block_size) {
  return std::clamp(kThreadsPerMultiprocessor / std::max(block_size, 1), 1, 16);
}

}  // namespace

SIM_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t,
                                     cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaLaunchKernel_v7000);
  return launch(function, arguments, grid, block, stream);
}

SIM_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                size_t, cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaLaunchCooperativeKernel_v9000);
  return launch(function, arguments, grid, block, stream);
}

SIM_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function,
                                        void** arguments) {
  SIM_RUNTIME_CALL(cudaLaunchKernelExC_v11060);
  return launch(function, arguments, configuration->gridDim, configuration->blockDim, configuration->stream);
}

SIM_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t,
                                       cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaLaunchKernel_v7000);
  return launch(kernel, arguments, grid, block, stream);
}

SIM_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return cudaSuccess;
}

SIM_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                             cudaStream_t stream) {
  pushed().push_back({grid, block, shared_bytes, stream});
  return 0;
}

SIM_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (pushed().empty()) return answered(cudaErrorMissingConfiguration);
  const LaunchConfiguration top = pushed().back();
  pushed().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

SIM_API cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

SIM_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* into, const void*) {
  std::memset(into, 0, sizeof *into);
  into->maxThreadsPerBlock = 1024;
  into->numRegs = 32;
  into->ptxVersion = into->binaryVersion = kComputeMajor * 10 + kComputeMinor;
  into->maxDynamicSharedSizeBytes = attribute_of(0, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return cudaSuccess;
}

SIM_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                           int block_size, size_t, unsigned) {
  *blocks = blocks_per_multiprocessor(block_size);
  return cudaSuccess;
}

SIM_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int block_size,
                                                                  size_t) {
  *blocks = blocks_per_multiprocessor(block_size);
  return cudaSuccess;
}
