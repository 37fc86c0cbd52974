#include "plugin/cuda/cuda_install.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "plugin/cuda/adaptor/cuda_adaptor.h"
#include "plugin/cuda/host/pinned_store.h"
#include "plugin/cuda/upstream/torch_versions.h"
#include "plugin/cuda/upstream/upstream_settings.h"
#include "recompute/recompute.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

constexpr std::uint8_t kPriority = 1;  ///< of c10::SetAllocator; PyTorch's own is 0

std::mutex& installing() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

Error unsupported(const std::string& why) { return {ErrorCode::kUnsupported, why}; }

/// The native allocator, also behind another one in place, or why there is none to wrap.
Result<torch_cuda::CUDAAllocator*> find_native() {
  if (std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr) {
    return unsupported(
        "PYTORCH_NO_CUDA_MEMORY_CACHING is set: unset it to let Stowage plan this job's memory");
  }
  // change_current_allocator swaps the first slot and leaves the second alone.
  for (c10::Allocator* candidate :
       {static_cast<c10::Allocator*>(torch_cuda::get()), c10::GetAllocator(c10::kCUDA)}) {
    auto* allocator = dynamic_cast<torch_cuda::CUDAAllocator*>(candidate);
    if (allocator == nullptr) continue;
    if (allocator->name() == "native") return allocator;
    if (allocator->name() == "cudaMallocAsync") {
      return unsupported(
          "the job runs on backend:cudaMallocAsync, which Stowage does not wrap: remove it from "
          "PYTORCH_CUDA_ALLOC_CONF to let Stowage plan this job's memory");
    }
  }
  return unsupported("the CUDA allocator in place is not PyTorch's native one (it calls itself \"" +
                     torch_cuda::get()->name() + "\"): install Stowage before it, or do not install it");
}

/// The process's adaptor over the native allocator, made on first use.
Result<CudaAdaptor*> adaptor() {
  if (Status torch = check_loaded_torch(); !torch) return torch.error();
  if (CudaAdaptor* made = cuda_adaptor()) return made;
  auto native = find_native();
  if (!native) return native.error();
  return new CudaAdaptor(**native);
}

void put_in_place(torch_cuda::CUDAAllocator* allocator) {
  torch_cuda::allocator.store(allocator);
  c10::SetAllocator(c10::kCUDA, allocator, kPriority);
}

template <class Action>
Status contained(Action action) {
  const std::lock_guard lock(installing());
  try {
    return action();
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInternal, error.what()};
  }
}

// Under a budget, which may come later.
void offload_as(const session::Settings& settings) {
  const Bytes limit = settings.host_memory.bytes().value_or(free_host_share());
  const session::Budget budget = settings.budget_of(DeviceKind::kCuda);
  const bool wanted = (budget.is_set() || budget.is_auto()) && limit.value() >= PinnedMemory::kBlock;
  recompute::Runtime::use_store(1, wanted ? std::make_unique<PinnedStore>(limit) : nullptr);
}

Status open(const session::Settings& settings) {
  auto ours = adaptor();
  if (!ours) return ours.error();
  if ((*ours)->active()) return {};
  prefer_expandable_segments(settings);
  offload_as(settings);
  (*ours)->activate(settings);
  return {};
}

}  // namespace

Status open_cuda(const session::Settings& settings) {
  return contained([&] { return open(settings); });
}

Status install_cuda(const session::Settings& settings) {
  return contained([&]() -> Status {
    const CudaAdaptor* before = cuda_adaptor();
    torch_cuda::CUDAAllocator* current = torch_cuda::get();
    if (before != nullptr && current != before && current->name() != "native") {
      return unsupported("another allocator (\"" + current->name() + "\") was installed after Stowage");
    }
    if (Status opened = open(settings); !opened) return opened;
    if (current != cuda_adaptor()) put_in_place(cuda_adaptor());
    return {};
  });
}

void remove_cuda() {
  const Status removed = contained([]() -> Status {
    CudaAdaptor* ours = cuda_adaptor();
    if (ours == nullptr) return {};
    ours->deactivate();
    ours->rest();
    if (torch_cuda::get() == ours && ours->unreferenced()) put_in_place(&ours->upstream());
    return {};
  });
  if (!removed) session::warn("PyTorch's CUDA allocator could not be put back: " + removed.error().message);
}

}  // namespace stowage::plugin
