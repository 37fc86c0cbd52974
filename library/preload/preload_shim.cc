// libstowage_preload.so: brings Stowage into a job by LD_PRELOAD alone, with no Python hook.
//
// A library that links torch cannot be preloaded, since nothing finds torch's libraries then. This one needs
// only libc and waits inside every process until torch shows itself by one of two calls, whichever comes
// first:
//   initModule           which `import torch` makes once libtorch_python is loaded (CPU and CUDA jobs)
//   cudaGetDeviceCount   which PyTorch makes before it initialises its CUDA allocator (C++ jobs too)
// It then loads libstowage.so (STOWAGE_LIBRARY, or the one beside itself) and calls
// stowage_autoload_preloaded(). To be preloaded is to be asked, so STOWAGE need not be set; STOWAGE=0 says
// no. Any failure becomes one warning, and the job continues. Processes without torch are left alone. Thread
// safety: both functions, from any thread; Stowage is loaded once.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

#define SHIM_EXPORT extern "C" __attribute__((visibility("default")))

constexpr int kCudaErrorUnknown = 999;  ///< cudaErrorUnknown of the runtime

void warn(const char* what, const char* why) {
  std::fprintf(stderr, "stowage: warning: %s (%s); the job goes on without Stowage\n", what,
               why == nullptr ? "?" : why);
}

bool loaded(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  dlclose(handle);
  return true;
}

/// False if the environment says no; what it says otherwise is for libstowage.so to read.
bool wanted() {
  const char* value = std::getenv("STOWAGE");
  return value == nullptr || std::strcmp(value, "0") != 0;
}

/// The library to load: STOWAGE_LIBRARY, or libstowage.so in this shim's folder. False if the path is too
/// long.
bool library_path(char* path, std::size_t size) {
  if (const char* chosen = std::getenv("STOWAGE_LIBRARY"); chosen != nullptr && *chosen != '\0') {
    return static_cast<std::size_t>(std::snprintf(path, size, "%s", chosen)) < size;
  }
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&library_path), &self) == 0) return false;
  const char* slash = std::strrchr(self.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - self.dli_fname);
  return static_cast<std::size_t>(std::snprintf(path, size, "%.*slibstowage.so", folder, self.dli_fname)) <
         size;
}

void start() {
  char path[4096];
  if (!library_path(path, sizeof path)) return warn("cannot find libstowage.so", "set STOWAGE_LIBRARY");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return warn("cannot load libstowage.so", dlerror());
  void* autoload = dlsym(library, "stowage_autoload_preloaded");
  if (autoload == nullptr) return warn("this libstowage.so is of another version", dlerror());
  reinterpret_cast<void (*)()>(autoload)();
}

/// Loads Stowage on the first call that finds `torch_library` in the process.
void start_once(const char* torch_library) {
  static std::atomic<bool> done{false};
  if (done.load(std::memory_order_acquire) || !wanted() || !loaded(torch_library)) return;
  if (!done.exchange(true, std::memory_order_acq_rel)) start();
}

/// The function that `name` stands for without us: further on in the search order, or in `library`, which
/// programs may have loaded for themselves only.
void* real_function(const char* name, const char* library) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

}  // namespace

/// What torch/_C.so calls to build the module torch._C.
SHIM_EXPORT void* initModule() {
  void* const real = real_function("initModule", "libtorch_python.so");
  if (real == nullptr) {
    warn("torch has changed: initModule is not in libtorch_python.so", "unset LD_PRELOAD");
    return nullptr;
  }
  void* const module = reinterpret_cast<void* (*)()>(real)();
  if (module != nullptr) start_once("libtorch_cpu.so");
  return module;
}

SHIM_EXPORT int cudaGetDeviceCount(int* count) {
  static void* const real = [] {
    void* found = real_function("cudaGetDeviceCount", "libcudart.so.13");
    return found != nullptr ? found : real_function("cudaGetDeviceCount", "libcudart.so.12");
  }();
  start_once("libc10_cuda.so");
  return real == nullptr ? kCudaErrorUnknown : reinterpret_cast<int (*)(int*)>(real)(count);
}
