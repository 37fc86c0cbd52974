// The calls that the adaptor delegates to upstream, with the little that the arena adds.
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

#include "plugin/cuda/adaptor/cuda_adaptor.h"
#include "recompute/recompute.h"

namespace stowage::plugin {
namespace {

constexpr c10::MempoolId_t kNoPool{0, 0};

bool in_mapped_arena(const void* address) {
  const ArenaEntry* entry = arena_directory().find(address);
  return entry != nullptr && entry->device.port.is_expandable();
}

}  // namespace

c10::DeleterFnPtr CudaAdaptor::raw_deleter() const {
  return serves() ? &CudaAdaptor::delete_any : upstream_.raw_deleter();
}

void CudaAdaptor::copy_data(void* to, const void* from, std::size_t bytes) const {
  upstream_.copy_data(to, from, bytes);
}

bool CudaAdaptor::initialized() { return upstream_.initialized(); }
void CudaAdaptor::init(int device_count) { upstream_.init(device_count); }
void CudaAdaptor::emptyCache(c10::MempoolId_t pool) {
  for (c10::DeviceIndex i = 0; i < kMaxDevices; ++i) {
    forget_failed_captures(i);
    if (pool != kNoPool) continue;
    if (CudaDevice* const known = known_device(i)) known->session.finish_frees();
    if (fractions_[static_cast<std::size_t>(i)].arenas() > Bytes{0}) give_back_idle_arenas(i);
  }
  upstream_.emptyCache(pool);
  note_upstream();
}

std::pair<std::size_t, std::size_t> CudaAdaptor::getMemoryInfo(c10::DeviceIndex device) {
  return upstream_.getMemoryInfo(device);
}

// The fraction in force may be a lower one that Stowage set.
double CudaAdaptor::getMemoryFraction(c10::DeviceIndex index) {
  if (index < 0 || index >= kMaxDevices) return upstream_.getMemoryFraction(index);
  return fractions_[static_cast<std::size_t>(index)].users();
}
void CudaAdaptor::setMemoryFraction(double fraction, c10::DeviceIndex index) {
  if (index < 0 || index >= kMaxDevices) return upstream_.setMemoryFraction(fraction, index);
  MemoryFraction& both = fractions_[static_cast<std::size_t>(index)];
  both.set_users(fraction);
  if (both.arenas() > Bytes{0} && both.exceeded()) give_back_idle_arenas(index);
}

std::vector<torch_cuda::StreamSegmentSize> CudaAdaptor::getExpandableSegmentSizes(c10::DeviceIndex device) {
  return upstream_.getExpandableSegmentSizes(device);
}

void CudaAdaptor::enable(bool value) {
  upstream_.enable(value);
  const std::lock_guard lock(making_);
  set_active(active());
}
bool CudaAdaptor::isEnabled() const { return upstream_.isEnabled(); }
void CudaAdaptor::cacheInfo(c10::DeviceIndex device, std::size_t* largest) {
  upstream_.cacheInfo(device, largest);
  const CudaDevice* const known = known_device(device);
  if (known == nullptr) return;
  // cuDNN's wrapper leaves out algorithms with larger workspaces. It asks for the largest of the others, and
  // halves what it asks for while that does not fit: from a figure that no budget allows it would come far
  // below what one does.
  if (const auto room = known->session.most_room())
    *largest = std::min(*largest, static_cast<std::size_t>(room->value()));
}

void* CudaAdaptor::getBaseAllocation(void* address, std::size_t* bytes) {
  const ArenaEntry* entry = arena_directory().find(address);
  if (entry == nullptr) return upstream_.getBaseAllocation(address, bytes);
  if (bytes != nullptr) *bytes = entry->mapped.load(std::memory_order_relaxed);
  return entry->base;
}

// Pools: upstream serves their requests.

void CudaAdaptor::beginAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                                      std::function<bool(cudaStream_t)> filter) {
  forget_failed_captures(device);
  // Before a capture begins: inside it, evicted tensors could not be restored, nor could cached memory be
  // released.
  recompute::Runtime::suspend();
  try {
    CudaDevice* const known = known_device(device);
    if (known != nullptr && known->port.ledger()->limited()) upstream_.emptyCache();
    upstream_.beginAllocateToPool(device, pool, filter);
    pools_of(device).open(pool, std::move(filter), c10::cuda::getCurrentCUDAStream(device).stream());
  } catch (...) {
    recompute::Runtime::resume();
    throw;
  }
}

void CudaAdaptor::endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool) {
  upstream_.endAllocateToPool(device, pool);
  if (pools_of(device).close(pool)) recompute::Runtime::resume();
}

bool CudaAdaptor::goes_to_pool(c10::DeviceIndex index, cudaStream_t stream) {
  forget_failed_captures(index);
  return pools_of(index).take(stream);
}

// Otherwise upstream would consider the capture still running: it would free no cached memory any more, and
// call the filter of a graph that may be destroyed.
void CudaAdaptor::forget_failed_captures(c10::DeviceIndex index) {
  if (!pools_of(index).any()) return;
  for (const c10::MempoolId_t& pool : pools_of(index).close_failed()) {
    upstream_.endAllocateToPool(index, pool);
    recompute::Runtime::resume();
  }
}

void CudaAdaptor::releasePool(c10::DeviceIndex device, c10::MempoolId_t pool) {
  upstream_.releasePool(device, pool);
}
int CudaAdaptor::getPoolUseCount(c10::DeviceIndex device, c10::MempoolId_t pool) {
  return upstream_.getPoolUseCount(device, pool);
}

void CudaAdaptor::createOrIncrefPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                                     std::shared_ptr<torch_cuda::CUDAAllocator> allocator) {
  upstream_.createOrIncrefPool(device, pool, std::move(allocator));
}

void CudaAdaptor::setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool, bool use_on_oom) {
  upstream_.setUseOnOOM(device, pool, use_on_oom);
}
void CudaAdaptor::setNoSplit(c10::DeviceIndex device, c10::MempoolId_t pool) {
  upstream_.setNoSplit(device, pool);
}

bool CudaAdaptor::checkPoolLiveAllocations(c10::DeviceIndex device, c10::MempoolId_t pool,
                                           const std::unordered_set<void*>& expected) {
  return upstream_.checkPoolLiveAllocations(device, pool, expected);
}

torch_cuda::ShareableHandle CudaAdaptor::shareIpcHandle(void* address) {
  const ArenaEntry* entry = arena_directory().find(address);
  for (CudaDevice* const device : devices_of(c10::cuda::current_device())) device->port.note_shared();
  if (entry == nullptr) return upstream_.shareIpcHandle(address);
  TORCH_CHECK(
      !entry->device.port.is_expandable(),
      "stowage: this tensor lies in the plan's arena, which is mapped memory that CUDA IPC cannot share. Set "
      "STOWAGE_ARENA=malloc for jobs that share CUDA tensors between processes, or share a clone().");
  return share_malloc_arena(*entry, address);
}

torch_cuda::ShareableHandle CudaAdaptor::share_malloc_arena(const ArenaEntry& entry, void* address) {
  const c10::cuda::CUDAGuard guard(entry.device.index);
  // The header in front of the handle is private to native, so it is taken from a native block's handle.
  constexpr std::size_t kProbeBytes = 512;
  const std::unique_ptr<void, void (*)(void*)> probe(upstream_.raw_alloc(kProbeBytes),
                                                     upstream_.raw_deleter());
  std::string handle = upstream_.shareIpcHandle(probe.get()).handle;
  constexpr char kMallocType = 'c';
  TORCH_CHECK(
      handle.size() > CUDA_IPC_HANDLE_SIZE && handle[handle.size() - CUDA_IPC_HANDLE_SIZE - 1] == kMallocType,
      "stowage: CUDA IPC of planned tensors needs expandable_segments:False in PYTORCH_CUDA_ALLOC_CONF");
  cudaIpcMemHandle_t arena;
  C10_CUDA_CHECK(cudaIpcGetMemHandle(&arena, entry.base));
  handle.replace(handle.size() - CUDA_IPC_HANDLE_SIZE, CUDA_IPC_HANDLE_SIZE,
                 reinterpret_cast<const char*>(&arena), CUDA_IPC_HANDLE_SIZE);
  return {static_cast<char*>(address) - static_cast<char*>(entry.base), std::move(handle)};
}

std::shared_ptr<void> CudaAdaptor::getIpcDevPtr(std::string handle) {
  return upstream_.getIpcDevPtr(std::move(handle));
}

bool CudaAdaptor::isHistoryEnabled() { return upstream_.isHistoryEnabled(); }

void CudaAdaptor::recordHistory(bool enabled, torch_cuda::CreateContextFn context_recorder,
                                std::size_t max_entries, torch_cuda::RecordContext when, bool clear_history,
                                const std::vector<std::string>& skip_actions) {
  history_.record(enabled, context_recorder, max_entries, when, clear_history, skip_actions);
}

void CudaAdaptor::recordAnnotation(const std::vector<std::pair<std::string, std::string>>& metadata) {
  upstream_.recordAnnotation(metadata);
}
void CudaAdaptor::pushCompileContext(std::string& context) {
  upstream_.pushCompileContext(context);
  history_.push_compile_context(context);
}
void CudaAdaptor::popCompileContext() {
  upstream_.popCompileContext();
  history_.pop_compile_context();
}
void CudaAdaptor::setUserMetadata(const std::string& metadata) { upstream_.setUserMetadata(metadata); }
std::string CudaAdaptor::getUserMetadata() { return upstream_.getUserMetadata(); }

void CudaAdaptor::attachOutOfMemoryObserver(torch_cuda::OutOfMemoryObserver observer) {
  upstream_.attachOutOfMemoryObserver([told = std::move(observer)](std::int64_t device, std::size_t allocated,
                                                                   std::size_t total, std::size_t free) {
    if (NotTheEnd::depth() == 0) told(device, allocated, total, free);
  });
}
void CudaAdaptor::attachAllocatorTraceTracker(torch_cuda::AllocatorTraceTracker tracker) {
  history_.add_tracker(std::move(tracker));
}

void CudaAdaptor::enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex peer) {
  upstream_.enablePeerAccess(device, peer);
  // `device` may now reach what lies on `peer`.
  if (active()) {
    if (CudaDevice* owner = device_for(peer)) {
      const Status shared = owner->port.add_peer(device);
      TORCH_CHECK(shared.ok(), "stowage: ", shared.error().message);
    }
  }
}

cudaError_t CudaAdaptor::memcpyAsync(void* to, int to_device, const void* from, int from_device,
                                     std::size_t bytes, cudaStream_t stream, bool p2p_enabled) {
  // Mapped memory of devices without peer access can be copied by the peer call only.
  if (!p2p_enabled && to_device != from_device && (in_mapped_arena(to) || in_mapped_arena(from))) {
    return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream);
  }
  return upstream_.memcpyAsync(to, to_device, from, from_device, bytes, stream, p2p_enabled);
}

std::shared_ptr<torch_cuda::AllocatorState> CudaAdaptor::getCheckpointState(c10::DeviceIndex device,
                                                                            c10::MempoolId_t pool) {
  return upstream_.getCheckpointState(device, pool);
}

torch_cuda::CheckpointDelta CudaAdaptor::setCheckpointPoolState(
    c10::DeviceIndex device, std::shared_ptr<torch_cuda::AllocatorState> state) {
  auto delta = upstream_.setCheckpointPoolState(device, std::move(state));
  // cudagraph trees look for raw_deleter(), which is ours.
  if (active()) {
    for (c10::DataPtr& data : delta.dataptrs_allocd) data = adopt(std::move(data));
  }
  return delta;
}

std::string CudaAdaptor::name() { return active() ? "stowage" : upstream_.name(); }

#if STOWAGE_TORCH_OOM_REJECTION
std::shared_ptr<c10::GatheredContext> CudaAdaptor::getContextForPointer(const void* address) {
  return upstream_.getContextForPointer(address);
}
void CudaAdaptor::attachOomRejectionObserver(torch_cuda::OomRejectionObserver observer) {
  upstream_.attachOomRejectionObserver(std::move(observer));
}
#endif

#if STOWAGE_TORCH_CAPTURE_MARKS
void CudaAdaptor::markCaptureBegin(c10::DeviceIndex device) { upstream_.markCaptureBegin(device); }
void CudaAdaptor::markCaptureEnd(c10::DeviceIndex device) { upstream_.markCaptureEnd(device); }
c10::DataPtr CudaAdaptor::allocateWithAddress(std::size_t bytes, void* address) {
  TORCH_CHECK(arena_directory().find(address) == nullptr, "stowage: cannot allocate at ", address,
              ", which lies in the arena of the plan");
  c10::DataPtr data = upstream_.allocateWithAddress(bytes, address);
  return active() ? adopt(std::move(data)) : std::move(data);
}
#endif

#if STOWAGE_TORCH_ANNOTATIONS
bool CudaAdaptor::supportsUserMetadata() { return upstream_.supportsUserMetadata(); }
void CudaAdaptor::annotateMemory(const void* address, const std::string& metadata) {
  if (arena_directory().find(address) == nullptr) upstream_.annotateMemory(address, metadata);
}
#endif

}  // namespace stowage::plugin
