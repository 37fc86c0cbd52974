// The adaptor's hot path: allocate, free, record_stream. Short, frequent code is inlined, by force where GCC
// would emit a call; rare code stays out of line.
#include <c10/core/AllocatorConfig.h>
#include <c10/core/impl/GPUTrace.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <optional>

#include "plugin/cuda/adaptor/cuda_adaptor.h"
#include "plugin/cuda/upstream/lasting_requests.h"
#include "plugin/cuda/upstream/upstream_space.h"
#include "recompute/recompute.h"
#include "recompute/storage/lent_memory.h"

namespace stowage::plugin {
namespace {

// True if a profiler or a sanitizer of PyTorch's observes this thread's allocations.
bool is_watched() {
  return c10::impl::GPUTrace::get_trace() != nullptr ||
         c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) != nullptr;
}

constinit std::atomic<bool> only_one_device{false};

[[gnu::noinline]] c10::DeviceIndex ask_for_current_device() {
  only_one_device.store(c10::cuda::device_count() == 1, std::memory_order_relaxed);
  c10::DeviceIndex device = 0;
  C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
  return device;
}

// A single device is always the current one, so the runtime need not be asked.
inline c10::DeviceIndex current_device() {
  return C10_LIKELY(only_one_device.load(std::memory_order_relaxed)) ? 0 : ask_for_current_device();
}

// The id is enough to recognise the default stream; its handle need not be looked up.
StreamId current_ordinal(CudaDevice& device, c10::DeviceIndex index) {
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(index);
  return C10_LIKELY(stream.id() == 0) ? StreamId{0} : device.port.streams().ordinal_of(stream.stream());
}

}  // namespace

C10_ALWAYS_INLINE void CudaAdaptor::free_arena_block(const ArenaEntry& arena, void* address) {
  if (C10_UNLIKELY(is_watched())) tell_of_free(arena, address);
  const bool freed = arena.device.session.free_block(address);
  if (C10_UNLIKELY(!freed)) refuse_free(address);
}

void CudaAdaptor::delete_any(void* address) {
  const ArenaEntry* arena = arena_directory().find(address);
  if (C10_LIKELY(arena != nullptr)) return free_arena_block(*arena, address);
  CudaAdaptor* adaptor = cuda_adaptor();
  adaptor->adopted_.fetch_sub(1, std::memory_order_relaxed);
  adaptor->delete_upstream(address);
}

void CudaAdaptor::raw_delete(void* address) {
  if (address == nullptr) return;
  if (const ArenaEntry* arena = arena_directory().find(address)) return free_arena_block(*arena, address);
  tell_sessions_of_free(address);
  upstream_.raw_delete(address);  // which also knows raw memory taken while caching is off
  note_upstream();
}

void CudaAdaptor::tell_sessions_of_free(void* address) {
  const c10::DeviceIndex end = device_end_.load(std::memory_order_acquire);
  for (c10::DeviceIndex i = 0; i < end; ++i) {
    CudaDevice* device = devices_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
    if (device != nullptr) device->session.free(address);
  }
}

// Adopted blocks came from the cache, even if caching is off now.
void CudaAdaptor::delete_upstream(void* address) {
  tell_sessions_of_free(address);
  const c10::DeleterFnPtr native = native_deleter_.load(std::memory_order_acquire);
  if (native == nullptr) {
    upstream_.raw_delete(address);
  } else {
    native(address);
  }
  note_upstream();
}

void CudaAdaptor::note_upstream() {
  const c10::DeviceIndex end = device_end_.load(std::memory_order_acquire);
  for (c10::DeviceIndex i = 0; i < end; ++i) {
    CudaDevice* device = devices_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
    if (device != nullptr) device->port.note_upstream();
  }
}

C10_ALWAYS_INLINE void* CudaAdaptor::try_arena(CudaDevice& device, std::size_t bytes, StreamId id) {
  if (C10_UNLIKELY(id == StreamTable::kNone || LastingRequests::present())) return nullptr;
  void* address = device.session.try_allocate(Bytes{bytes}, id);
  if (C10_UNLIKELY(address != nullptr && is_watched())) tell_of_allocation(device, address, bytes);
  return address;
}

c10::DataPtr CudaAdaptor::allocate(std::size_t bytes) {
  if (C10_UNLIKELY(bytes == 0)) return upstream_.allocate(bytes);
  if (C10_UNLIKELY(!serves())) return allocate_past(bytes);
  const c10::DeviceIndex index = current_device();
  if (C10_UNLIKELY(pools_of(index).any()) &&
      goes_to_pool(index, c10::cuda::getCurrentCUDAStream(index).stream())) {
    c10::DataPtr data = adopt(allocate_past(bytes));
    note_upstream();
    return data;
  }
  CudaDevice* device = device_for(index);
  if (C10_UNLIKELY(device == nullptr)) return adopt(allocate_past(bytes));
  const StreamId id = current_ordinal(*device, index);
  void* address = try_arena(*device, bytes, id);
  if (C10_UNLIKELY(address == nullptr))
    return allocate_upstream(device, bytes, id, __builtin_return_address(0));
  return {address, address, &CudaAdaptor::delete_any, c10::Device(c10::kCUDA, index)};
}

// Tries contiguous room first: it reuses the free space next to the evicted blocks.
bool CudaAdaptor::make_room(CudaDevice& device, std::size_t bytes, cudaStream_t stream) {
  const FreeSpace space = upstream_space(upstream_, device.index, stream, Bytes{bytes});
  return device.session.make_contiguous_room_upstream(Bytes{bytes}, space) ||
         device.session.make_room_upstream(Bytes{bytes});
}

template <class Ask>
auto CudaAdaptor::ask_upstream(c10::DeviceIndex index, Ask ask) {
  for (const Remedy remedy : {&CudaAdaptor::give_back_idle_arenas, &CudaAdaptor::yield_expandable_segments}) {
    if (!has_remedies(index)) break;
    const NotTheEnd quiet;
    try {
      return ask();
    } catch (const c10::OutOfMemoryError&) {
      devices_of(index).back()->port.limit().note_mended();
    }
    (this->*remedy)(index);
  }
  try {
    return ask();
  } catch (const c10::OutOfMemoryError&) {
    resume_expandable_segments();
    throw;
  }
}

[[gnu::noinline]] c10::DataPtr CudaAdaptor::allocate_past(std::size_t bytes) {
  return ask_upstream(current_device(), [&] { return upstream_.allocate(bytes); });
}

template <class Ask>
auto CudaAdaptor::within_budget(CudaDevice& device, std::size_t bytes, cudaStream_t stream, Ask ask) {
  const bool limited = device.port.ledger()->limited();
  const auto noted = c10::make_scope_exit([&] { device.port.note_upstream(); });
  if (C10_UNLIKELY(limited)) {
    device.port.limit().before_request();
    const NotTheEnd quiet;
    do {
      try {
        return ask();
      } catch (const c10::OutOfMemoryError&) {
        device.port.limit().note_mended();
      }
    } while (make_room(device, bytes, stream));
  }
  // Where the error does not reach the job, neither observers nor statistics see it.
  std::optional<NotTheEnd> quiet;
  if (C10_UNLIKELY(limited) && recompute::Runtime::may_fail()) quiet.emplace();
  try {
    return ask_upstream(device.index, ask);
  } catch (const c10::OutOfMemoryError& error) {
    if (quiet) device.port.limit().note_mended();
    device.session.finish_frees();  // as native does with its own blocks before it reports the error
    throw explained(error, device, bytes, limited);
  }
}

c10::DataPtr CudaAdaptor::allocate_upstream(CudaDevice* device, std::size_t bytes, StreamId id,
                                            const void* caller) {
  if (id != StreamTable::kNone) device->session.before_upstream_alloc(Bytes{bytes}, id);
  c10::DataPtr data = within_budget(*device, bytes, c10::cuda::getCurrentCUDAStream(device->index), [&] {
    if (void* lasting = allocate_lasting(*device, bytes, id, caller)) {
      c10::DataPtr parted(lasting, lasting, native_deleter_.load(), c10::Device(c10::kCUDA, device->index));
      return adopt(std::move(parted));
    }
    return adopt(upstream_.allocate(bytes));
  });
  // A block that was not adopted (caching is off) would be freed without the session's knowledge.
  if (id != StreamTable::kNone && data.get_deleter() == &CudaAdaptor::delete_any) {
    device->session.on_upstream_alloc(data.get(), Bytes{bytes}, id);
  }
  return data;
}

c10::DataPtr CudaAdaptor::adopt(c10::DataPtr data) {
  if (data.get() == nullptr || data.get() != data.get_context()) return data;
  const c10::DeleterFnPtr native = native_deleter_.load(std::memory_order_acquire);
  if (native == nullptr || !data.compare_exchange_deleter(native, &CudaAdaptor::delete_any)) return data;
  adopted_.fetch_add(1, std::memory_order_relaxed);
  return data;
}

void* CudaAdaptor::allocate_on(std::size_t bytes, c10::DeviceIndex index, cudaStream_t stream) {
  const bool ours = serves() && !(pools_of(index).any() && goes_to_pool(index, stream));
  CudaDevice* device = ours ? device_for(index) : nullptr;
  if (device == nullptr)
    return ask_upstream(index, [&] { return upstream_.raw_alloc_with_stream(bytes, stream); });
  const StreamId id = device->port.streams().ordinal_of(stream);
  if (void* address = try_arena(*device, bytes, id)) return address;
  if (id != StreamTable::kNone) device->session.before_upstream_alloc(Bytes{bytes}, id);
  void* const address = within_budget(*device, bytes, stream, [&] {
    void* const lasting = allocate_lasting(*device, bytes, id, nullptr);
    return lasting != nullptr ? lasting : upstream_.raw_alloc_with_stream(bytes, stream);
  });
  if (id != StreamTable::kNone) device->session.on_upstream_alloc(address, Bytes{bytes}, id);
  return address;
}

void* CudaAdaptor::raw_alloc(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const c10::DeviceIndex index = current_device();
  return allocate_on(bytes, index, c10::cuda::getCurrentCUDAStream(index).stream());
}

void* CudaAdaptor::raw_alloc_with_stream(std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return nullptr;
  return allocate_on(bytes, current_device(), stream);
}

void CudaAdaptor::record_stream_of(void* address, c10::cuda::CUDAStream stream) {
  if (address == nullptr) return;
  if (const ArenaEntry* entry = arena_directory().find(address)) {
    CudaDevice& device = entry->device;
    const std::optional<StreamId> id = device.port.streams().id_of(stream.stream());
    const std::optional<allocator::ArenaBlock> block = device.session.block_at(address);
    if (!block || id == block->stream) return;  // its own stream's order protects it
    // A stream without an ordinal has no fences, so wait for its work here. More than 1024 streams are rare
    // enough.
    if (!id) stream.synchronize();
    if (id) device.session.record_stream(address, *id);
    return;
  }
  if (CudaDevice* device =
          devices_[static_cast<std::size_t>(stream.device_index())].load(std::memory_order_acquire)) {
    if (const auto id = device->port.streams().id_of(stream.stream()))
      device->session.record_stream(address, *id);
  }
  // Native ignores data under any deleter but its own.
  c10::DataPtr view(address, address, native_deleter_.load(), c10::Device(c10::kCUDA, stream.device_index()));
  try {
    upstream_.recordStream(view, stream);
  } catch (...) {
    static_cast<void>(view.release_context());
    throw;
  }
  static_cast<void>(view.release_context());
}

void CudaAdaptor::recordStream(const c10::DataPtr& shown, c10::cuda::CUDAStream stream) {
  if (shown.get() == nullptr) return;
  const c10::DataPtr& data = recompute::own_pointer(shown);
  if (data.get_deleter() != &CudaAdaptor::delete_any) return upstream_.recordStream(data, stream);
  record_stream_of(data.get_context(), stream);
}

}  // namespace stowage::plugin
