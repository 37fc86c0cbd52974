#include "library/c_abi.h"

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/PeerToPeerAccess.h>

#include <exception>
#include <string>

#include "library/finish.h"
#include "plugin/cuda/adaptor/cuda_adaptor.h"
#include "plugin/cuda/cuda_install.h"
#include "plugin/cuda/upstream/torch_versions.h"
#include "session/settings/notice.h"
#include "session/settings/settings.h"

namespace stowage::plugin {
namespace {

/// Settings for this door: choosing it is asking for Stowage.
session::Settings door_settings() {
  Result<session::Settings> settings = session::read_settings();
  if (settings) return settings->enable = true, *settings;
  session::warn(settings.error().message + "; the defaults are used");
  return session::Settings{};
}

/// The allocator behind the C ABI: ours if it can be, else PyTorch's native one.
torch_cuda::CUDAAllocator& door() {
  static torch_cuda::CUDAAllocator* const allocator = []() -> torch_cuda::CUDAAllocator* {
    const session::Settings settings = door_settings();
    const Status opened = open_cuda(settings);
    if (opened) finish_at_exit(settings);
    if (!opened) session::warn(opened.error().message + "; this job's memory is not planned");
    torch_cuda::CUDAAllocator* made = cuda_adaptor();
    if (made == nullptr) made = dynamic_cast<torch_cuda::CUDAAllocator*>(c10::GetAllocator(c10::kCUDA));
    if (made != nullptr && !made->initialized()) {  // as torch does on its first use of CUDA
      c10::cuda::detail::init_p2p_access_cache(c10::cuda::device_count());
      made->init(c10::cuda::device_count());
    }
    return made;
  }();
  TORCH_CHECK(allocator != nullptr, "stowage: this torch has no CUDA allocator");
  return *allocator;
}

/// Runs `action` and keeps its exceptions in: a warning, and `otherwise`.
template <class Action, class T>
T guarded(const char* what, T otherwise, Action action) noexcept {
  try {
    return action();
  } catch (const std::exception& error) {
    session::warn(std::string(what) + ": " + error.what());
    return otherwise;
  }
}

template <class Action>
void guarded(const char* what, Action action) noexcept {
  static_cast<void>(guarded(what, 0, [&] {
    action();
    return 0;
  }));
}

void* allocate(ssize_t bytes, int device, cudaStream_t stream) {
  TORCH_CHECK(bytes >= 0, "stowage: a request of ", bytes, " bytes");
  if (bytes == 0) return nullptr;
  const c10::cuda::OptionalCUDAGuard guard(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
  return door().raw_alloc_with_stream(static_cast<std::size_t>(bytes), stream);
}

}  // namespace
}  // namespace stowage::plugin

using stowage::plugin::door;
using stowage::plugin::guarded;
using Pool = std::pair<unsigned long long, unsigned long long>;

extern "C" {

void* stowage_alloc(ssize_t bytes, int device, cudaStream_t stream) {
  return guarded("stowage_alloc", static_cast<void*>(nullptr),
                 [&] { return stowage::plugin::allocate(bytes, device, stream); });
}

void* stowage_torch_alloc(ssize_t bytes, int device, cudaStream_t stream) {
  return stowage::plugin::allocate(bytes, device, stream);
}

void stowage_free(void* address, ssize_t /*bytes*/, int /*device*/, cudaStream_t /*stream*/) {
  if (address == nullptr) return;
  guarded("stowage_free", [&] { door().raw_delete(address); });
}

void stowage_init(int device_count) {
  guarded("stowage_init", [&] {
    if (!door().initialized()) door().init(device_count);
  });
}

void stowage_reset(void) {
  guarded("stowage_reset", [] { door().emptyCache(); });
}

void stowage_memory_fraction(double fraction, int device) {
  guarded("stowage_memory_fraction",
          [&] { door().setMemoryFraction(fraction, static_cast<c10::DeviceIndex>(device)); });
}

void* stowage_base_alloc(void* address, std::size_t* bytes) {
  return guarded("stowage_base_alloc", address, [&] { return door().getBaseAllocation(address, bytes); });
}

void stowage_record_stream(void* address, cudaStream_t stream) {
  guarded("stowage_record_stream", [&] {
    const auto on = c10::cuda::getStreamFromExternal(stream, c10::cuda::current_device());
    if (auto* ours = stowage::plugin::cuda_adaptor()) return ours->record_stream_of(address, on);
    const c10::Device device(c10::kCUDA, on.device_index());
    c10::DataPtr view(address, address, door().raw_deleter(), device);
    door().recordStream(view, on);
    static_cast<void>(view.release_context());
  });
}

void stowage_begin_allocate_to_pool(int device, Pool pool, std::function<bool(cudaStream_t)> filter) {
  guarded("stowage_begin_allocate_to_pool", [&] {
    door().beginAllocateToPool(static_cast<c10::DeviceIndex>(device), pool, std::move(filter));
  });
}

void stowage_end_allocate_to_pool(int device, Pool pool) {
  guarded("stowage_end_allocate_to_pool",
          [&] { door().endAllocateToPool(static_cast<c10::DeviceIndex>(device), pool); });
}

void stowage_release_pool(int device, Pool pool) {
  guarded("stowage_release_pool", [&] { door().releasePool(static_cast<c10::DeviceIndex>(device), pool); });
}

const char* stowage_check_torch(const char* running) {
  thread_local std::string why;
  try {
    const stowage::Status status = stowage::plugin::check_torch_version(running == nullptr ? "" : running);
    if (status) return nullptr;
    why = status.error().message;
    return why.c_str();
  } catch (...) {
    return "out of memory";
  }
}

}  // extern "C"
