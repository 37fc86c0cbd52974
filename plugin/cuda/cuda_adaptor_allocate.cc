// The adaptor's hot path: allocate, free, record_stream.
#include <c10/core/impl/GPUTrace.h>
#include <c10/cuda/CUDAFunctions.h>

#include <optional>

#include "core/check.h"
#include "plugin/cuda/cuda_adaptor.h"
#include "tracer/op_observer.h"

namespace stowage::plugin {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

void trace_allocation(const void* address) {
  if (const c10::impl::PyInterpreter* interpreter = c10::impl::GPUTrace::get_trace()) {
    (*interpreter)->trace_gpu_memory_allocation(c10::kCUDA, number(address));
  }
}

void trace_free(const void* address) {
  if (const c10::impl::PyInterpreter* interpreter = c10::impl::GPUTrace::get_trace()) {
    (*interpreter)->trace_gpu_memory_deallocation(c10::kCUDA, number(address));
  }
}

// Where there is one device it is the current one, and the runtime need not be asked.
c10::DeviceIndex current_device() {
  static const bool only_one = c10::cuda::device_count() == 1;
  if (C10_LIKELY(only_one)) return 0;
  c10::DeviceIndex device = 0;
  C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
  return device;
}

// The default stream's id says all, and its handle need not be looked up.
cudaStream_t current_stream(c10::DeviceIndex device) {
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(device);
  return C10_LIKELY(stream.id() == 0) ? nullptr : stream.stream();
}

}  // namespace

void CudaAdaptor::delete_any(void* address) {
  CudaAdaptor* adaptor = cuda_adaptor();
  if (adaptor->free_arena_block(address)) return;
  adaptor->note_upstream_free(address);
  adaptor->adopted_.fetch_sub(1, std::memory_order_relaxed);
  adaptor->upstream_.raw_delete(address);
}

void* CudaAdaptor::try_arena(CudaDevice& device, std::size_t bytes, cudaStream_t stream,
                             std::optional<StreamId>& id) {
  const StreamId ordinal = device.port.streams().ordinal_of(stream);
  if (C10_UNLIKELY(ordinal == StreamTable::kNone)) return nullptr;
  void* address = device.session.try_allocate(Bytes{bytes}, ordinal);
  if (C10_UNLIKELY(address == nullptr)) {
    id = ordinal;
    return nullptr;
  }
  ArenaEntry* entry = arena_directory().find(address);
  STOWAGE_CHECK(entry != nullptr, "the session gave out an address outside every arena");
  entry->ledger.note_allocated(address, Bytes{bytes}, ordinal);
  if (C10_UNLIKELY(c10::memoryProfilingEnabled())) {
    report_to_profiler(device, address, static_cast<std::int64_t>(round_up(Bytes{bytes}).value()));
  }
  trace_allocation(address);
  return address;
}

c10::DataPtr CudaAdaptor::allocate(std::size_t bytes) {
  if (C10_UNLIKELY(bytes == 0 || !active())) return upstream_.allocate(bytes);
  const c10::DeviceIndex index = current_device();
  if (C10_UNLIKELY(pools_[static_cast<std::size_t>(index)].load(std::memory_order_acquire) != 0)) {
    return adopt(upstream_.allocate(bytes));
  }
  CudaDevice* device = device_for(index);
  if (C10_UNLIKELY(device == nullptr)) return adopt(upstream_.allocate(bytes));
  std::optional<StreamId> id;
  const cudaStream_t stream = current_stream(index);
  void* address = try_arena(*device, bytes, stream, id);
  if (C10_LIKELY(address != nullptr)) {
    return {address, address, &CudaAdaptor::delete_any, c10::Device(c10::kCUDA, index)};
  }
  return allocate_upstream(device, bytes, stream, id);
}

// Optimizer state and the workspaces of cuBLAS are born among activations and gradients and outlive them. In
// upstream's pool of the default stream they would settle between those, and each would pin a page of holes
// for good. Upstream keeps a pool for every stream handle, and the default stream has two: null and
// cudaStreamLegacy. Being one stream, a block of either may be used, reused and unmapped in its order.
void* CudaAdaptor::allocate_lasting(CudaDevice& device, std::size_t bytes, cudaStream_t stream) {
  if (stream != nullptr || !upstream_.isEnabled()) return nullptr;
  const SessionState state = device.session.state();
  if (state != SessionState::kRecording && state != SessionState::kPlanning) return nullptr;
  // What ops on lists return in a step is scratch: gradients with weight decay, denominators.
  const bool optimizer_state = device.session.expects_lasting() && !tracer::in_foreach_op();
  if (!optimizer_state && !is_blas_workspace(bytes)) return nullptr;
  return upstream_.raw_alloc_with_stream(bytes, cudaStreamLegacy);
}

c10::DataPtr CudaAdaptor::allocate_upstream(CudaDevice* device, std::size_t bytes, cudaStream_t stream,
                                            std::optional<StreamId> id) {
  try {
    c10::DataPtr data;
    if (void* lasting = allocate_lasting(*device, bytes, stream)) {
      data = {lasting, lasting, upstream_.raw_deleter(), c10::Device(c10::kCUDA, device->index)};
      data = adopt(std::move(data));
    } else {
      data = adopt(upstream_.allocate(bytes));
    }
    // A block that did not become ours (caching switched off) would be freed unseen.
    if (id && data.get_deleter() == &CudaAdaptor::delete_any) {
      device->session.on_upstream_alloc(data.get(), Bytes{bytes}, *id);
    }
    return data;
  } catch (c10::OutOfMemoryError& error) {
    error.add_context(arena_line(device->index));
    throw;
  }
}

c10::DataPtr CudaAdaptor::adopt(c10::DataPtr data) {
  if (data.get() == nullptr || data.get() != data.get_context()) return data;
  if (!data.compare_exchange_deleter(upstream_.raw_deleter(), &CudaAdaptor::delete_any)) return data;
  adopted_.fetch_add(1, std::memory_order_relaxed);
  return data;
}

void* CudaAdaptor::allocate_on(std::size_t bytes, c10::DeviceIndex index, cudaStream_t stream) {
  const bool ours = active() && pools_[static_cast<std::size_t>(index)].load(std::memory_order_acquire) == 0;
  CudaDevice* device = ours ? device_for(index) : nullptr;
  if (device == nullptr) return upstream_.raw_alloc_with_stream(bytes, stream);
  std::optional<StreamId> id;
  if (void* address = try_arena(*device, bytes, stream, id)) return address;
  try {
    void* address = allocate_lasting(*device, bytes, stream);
    if (address == nullptr) address = upstream_.raw_alloc_with_stream(bytes, stream);
    if (id) device->session.on_upstream_alloc(address, Bytes{bytes}, *id);
    return address;
  } catch (c10::OutOfMemoryError& error) {
    error.add_context(arena_line(index));
    throw;
  }
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

void CudaAdaptor::raw_delete(void* address) {
  if (address == nullptr || free_arena_block(address)) return;
  note_upstream_free(address);
  upstream_.raw_delete(address);
}

bool CudaAdaptor::free_arena_block(void* address) {
  ArenaEntry* entry = arena_directory().find(address);
  if (entry == nullptr) return false;
  const ArenaBlock block = entry->ledger.note_freed(address);
  TORCH_CHECK(block.rounded > Bytes{0}, "stowage: free of ", address,
              ", which is not the start of a live block");
  CudaDevice& device = entry->device;
  if (C10_UNLIKELY(c10::memoryProfilingEnabled())) {
    report_to_profiler(device, address, -static_cast<std::int64_t>(block.rounded.value()));
  }
  trace_free(address);
  device.session.free(address);
  return true;
}

void CudaAdaptor::note_upstream_free(void* address) {
  const c10::DeviceIndex end = device_end_.load(std::memory_order_acquire);
  for (c10::DeviceIndex i = 0; i < end; ++i) {
    CudaDevice* device = devices_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
    if (device != nullptr) device->session.free(address);
  }
}

void CudaAdaptor::record_stream_of(void* address, c10::cuda::CUDAStream stream) {
  if (address == nullptr) return;
  if (ArenaEntry* entry = arena_directory().find(address)) {
    CudaDevice& device = entry->device;
    const std::optional<StreamId> id = device.port.streams().id_of(stream.stream());
    if (id && *id == entry->ledger.block_at(address).stream) return;  // its own stream's order protects it
    // Without an ordinal there is no fence to wait for, so the work is waited for here. 1024 streams are rare
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
  c10::DataPtr view(address, address, upstream_.raw_deleter(),
                    c10::Device(c10::kCUDA, stream.device_index()));
  try {
    upstream_.recordStream(view, stream);
  } catch (...) {
    static_cast<void>(view.release_context());
    throw;
  }
  static_cast<void>(view.release_context());
}

void CudaAdaptor::recordStream(const c10::DataPtr& data, c10::cuda::CUDAStream stream) {
  if (data.get() == nullptr) return;
  if (data.get_deleter() != &CudaAdaptor::delete_any) return upstream_.recordStream(data, stream);
  record_stream_of(data.get_context(), stream);
}

}  // namespace stowage::plugin
