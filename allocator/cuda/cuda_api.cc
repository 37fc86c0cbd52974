#include "allocator/cuda/cuda_api.h"

#include <dlfcn.h>

#include <mutex>
#include <optional>

#include "allocator/arena/backend.h"

namespace stowage::allocator {
namespace {

constexpr unsigned kDriverVersion = 12000;  // the newest forms of the driver's functions that we know
constexpr const char* kRuntimes[] = {"libcudart.so.13", "libcudart.so.12"};

template <class Function>
void set(Function& function, void* address) {
  function = reinterpret_cast<Function>(address);
}

// The handle to look runtime functions up in (RTLD_DEFAULT is one, and null); nullopt: there is no runtime.
std::optional<void*> find_runtime() {
  if (dlsym(RTLD_DEFAULT, "cudaMalloc") != nullptr) return RTLD_DEFAULT;
  for (const int loaded_only : {RTLD_NOLOAD, 0}) {
    for (const char* name : kRuntimes) {
      if (void* library = dlopen(name, RTLD_LAZY | loaded_only)) return library;
    }
  }
  return std::nullopt;
}

class DriverLookup {
 public:
  explicit DriverLookup(void* runtime) {
    set(by_version_, dlsym(runtime, "cudaGetDriverEntryPointByVersion"));
  }

  void* find(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    if (by_version_ != nullptr &&
        by_version_(name, &function, kDriverVersion, cudaEnableDefault, &found) == cudaSuccess &&
        found == cudaDriverEntryPointSuccess && function != nullptr) {
      return function;
    }
    if (driver_ == nullptr) driver_ = dlopen("libcuda.so.1", RTLD_LAZY);
    return driver_ != nullptr ? dlsym(driver_, name) : nullptr;
  }

 private:
  cudaError_t (*by_version_)(const char*, void**, unsigned, unsigned long long,
                             cudaDriverEntryPointQueryResult*) = nullptr;
  void* driver_ = nullptr;
};

bool load_runtime(CudaApi& api, void* runtime) {
  bool complete = true;
  const auto get = [&](auto& function, const char* name) {
    set(function, dlsym(runtime, name));
    complete = complete && function != nullptr;
  };
  get(api.get_device, "cudaGetDevice");
  get(api.set_device, "cudaSetDevice");
  get(api.get_device_count, "cudaGetDeviceCount");
  get(api.synchronize, "cudaDeviceSynchronize");
  get(api.memory_info, "cudaMemGetInfo");
  get(api.copy, "cudaMemcpy");
  get(api.malloc, "cudaMalloc");
  get(api.free, "cudaFree");
  get(api.last_error, "cudaGetLastError");
  get(api.error_string, "cudaGetErrorString");
  return complete;
}

void load_driver(CudaApi& api, void* runtime) {
  DriverLookup lookup(runtime);
  bool complete = true;
  const auto get = [&](auto& function, const char* name) {
    set(function, lookup.find(name));
    complete = complete && function != nullptr;
  };
  get(api.device_attribute, "cuDeviceGetAttribute");
  get(api.granularity, "cuMemGetAllocationGranularity");
  get(api.address_reserve, "cuMemAddressReserve");
  get(api.address_free, "cuMemAddressFree");
  get(api.create, "cuMemCreate");
  get(api.release, "cuMemRelease");
  get(api.map, "cuMemMap");
  get(api.unmap, "cuMemUnmap");
  get(api.set_access, "cuMemSetAccess");
  get(api.driver_error_string, "cuGetErrorString");
  api.has_driver = complete;
}

}  // namespace

Result<const CudaApi*> CudaApi::load() {
  static std::mutex mutex;
  static CudaApi api;
  static bool loaded = false;
  const std::lock_guard guard(mutex);
  if (loaded) return &api;
  const std::optional<void*> runtime = find_runtime();
  if (!runtime || !load_runtime(api, *runtime)) {
    return Error{ErrorCode::kNotFound,
                 "no CUDA runtime (libcudart.so.13 or .12) is in this process or can be loaded: "
                 "install a CUDA build of PyTorch and import it first"};
  }
  load_driver(api, *runtime);
  loaded = true;
  return &api;
}

std::string CudaApi::describe(const char* what, cudaError_t status) const {
  return std::string(what) + ": " + error_string(status) + " (" + std::to_string(status) + ")";
}

std::string CudaApi::describe(const char* what, CUresult status) const {
  const char* words = nullptr;
  if (driver_error_string(status, &words) != CUDA_SUCCESS || words == nullptr) words = "unknown error";
  return std::string(what) + ": " + words + " (" + std::to_string(status) + ")";
}

CudaDeviceGuard::CudaDeviceGuard(const CudaApi& api, int device) : api_(api) {
  if (api_.get_device(&previous_) != cudaSuccess) previous_ = -1;
  if (previous_ == device) {
    previous_ = -1;  // nothing to put back
    return;
  }
  status_ = api_.set_device(device);
}

CudaDeviceGuard::~CudaDeviceGuard() {
  if (previous_ >= 0) (void)api_.set_device(previous_);
}

Result<const CudaApi*> open_cuda_device(int device) {
  Result<const CudaApi*> api = CudaApi::load();
  if (!api.ok()) return api;
  int count = 0;
  if (const cudaError_t status = (*api)->get_device_count(&count); status != cudaSuccess) {
    (void)(*api)->last_error();
    return Error{ErrorCode::kNotFound,
                 (*api)->describe("no CUDA device can be used: cudaGetDeviceCount", status)};
  }
  if (device < 0 || device >= count) {
    return Error{ErrorCode::kInvalidArgument, "there is no CUDA device " + std::to_string(device) +
                                                  ": there are " + std::to_string(count)};
  }
  // Makes the device's context, which the driver's calls need, if this is its first use in the process.
  const CudaDeviceGuard guard(**api, device);
  if (const cudaError_t status = (*api)->free(nullptr); status != cudaSuccess) {
    (void)(*api)->last_error();
    return Error{ErrorCode::kInternal,
                 (*api)->describe("the CUDA device cannot be initialised: cudaFree", status)};
  }
  return api;
}

Result<MemoryInfo> cuda_memory_info(const CudaApi& api, int device) {
  const CudaDeviceGuard guard(api, device);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  const cudaError_t status = api.memory_info(&free_bytes, &total_bytes);
  if (status == cudaSuccess) return MemoryInfo{Bytes(free_bytes), Bytes(total_bytes)};
  (void)api.last_error();
  return Error{ErrorCode::kInternal,
               api.describe("the CUDA device does not tell its memory: cudaMemGetInfo", status)};
}

}  // namespace stowage::allocator
