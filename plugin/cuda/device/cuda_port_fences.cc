// The port's fences: events in the job's streams, which tell when a stream has passed a block's last use.
#include <c10/cuda/CUDAGuard.h>

#include <mutex>
#include <utility>

#include "plugin/cuda/device/cuda_port.h"

namespace stowage::plugin {

std::uint64_t CudaPort::record_fence(StreamId stream) {
  cudaEvent_t event = nullptr;
  if (may_wait()) {
    event = take_event();
    if (event != nullptr && !record(event, stream)) {
      const std::lock_guard lock(fences_mutex_);
      free_events_.push_back(std::exchange(event, nullptr));
    }
  }
  const std::lock_guard lock(fences_mutex_);
  fences_.emplace(next_fence_, Fence{event, stream});
  return next_fence_++;
}

bool CudaPort::fence_passed(std::uint64_t id) {
  if (!may_wait()) return false;
  const std::lock_guard lock(fences_mutex_);
  const auto found = fences_.find(id);
  if (found == fences_.end()) return true;
  Fence& fence = found->second;
  if (fence.event == nullptr) {
    // A capture deferred it. A later point in the stream is safe.
    fence.event = free_events_.empty() ? new_event() : free_events_.back();
    if (!free_events_.empty()) free_events_.pop_back();
    if (fence.event == nullptr || record(fence.event, fence.stream)) return false;
    free_events_.push_back(std::exchange(fence.event, nullptr));
    return false;
  }
  const cudaError_t status = cudaEventQuery(fence.event);
  if (status != cudaSuccess) {
    // Not ready, or an error of the job's own, which the job will see. Either way not passed.
    if (status == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
    return false;
  }
  free_events_.push_back(fence.event);
  fences_.erase(found);
  return true;
}

void CudaPort::wait_for_fence(std::uint64_t id) {
  if (!may_wait()) return;
  cudaEvent_t event = nullptr;
  {
    const std::lock_guard lock(fences_mutex_);
    const auto found = fences_.find(id);
    if (found != fences_.end()) event = found->second.event;
  }
  // Another thread may reuse the event meanwhile; then this waits longer, which is harmless.
  if (event != nullptr && cudaEventSynchronize(event) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

cudaEvent_t CudaPort::take_event() {
  {
    const std::lock_guard lock(fences_mutex_);
    if (!free_events_.empty()) {
      cudaEvent_t event = free_events_.back();
      free_events_.pop_back();
      return event;
    }
  }
  return new_event();
}

cudaEvent_t CudaPort::new_event() const {
  const c10::cuda::CUDAGuard guard(index_);
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess) return event;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

bool CudaPort::record(cudaEvent_t event, StreamId stream) {
  const c10::cuda::CUDAGuard guard(index_);
  if (cudaEventRecord(event, static_cast<cudaStream_t>(streams_.handle_of(stream))) == cudaSuccess)
    return true;
  static_cast<void>(cudaGetLastError());
  return false;
}

}  // namespace stowage::plugin
