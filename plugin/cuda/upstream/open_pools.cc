#include "plugin/cuda/upstream/open_pools.h"

#include <algorithm>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace stowage::plugin {
namespace {

/// True for the filter of a graph capture: a function object of at::cuda::CUDAGraph, as its type name shows.
bool is_of_graph(const OpenPools::Filter& filter) {
  return std::string_view(filter.target_type().name()).find("CUDAGraph") != std::string_view::npos;
}

bool captures_now(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  static_cast<void>(cudaGetLastError());
  return false;
}

}  // namespace

void OpenPools::open(c10::MempoolId_t pool, Filter filter, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const bool is_capture = is_of_graph(filter);
  if (is_capture) captured_.store(true, std::memory_order_relaxed);
  pools_.push_back({pool, std::move(filter), stream, std::this_thread::get_id(), is_capture, false});
  open_.store(pools_.size(), std::memory_order_release);
}

bool OpenPools::close(c10::MempoolId_t pool) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(pools_.begin(), pools_.end(), [&](const Pool& one) { return one.id == pool; });
  if (found == pools_.end()) return false;
  pools_.erase(found);
  open_.store(pools_.size(), std::memory_order_release);
  return true;
}

// The thread that begins a capture calls nothing else between opening its pool and capturing.
bool OpenPools::is_over(Pool& pool) {
  if (!pool.is_capture) return false;
  if (captures_now(pool.stream)) {
    pool.seen = true;
    return false;
  }
  return pool.seen || pool.thread == std::this_thread::get_id();
}

std::vector<c10::MempoolId_t> OpenPools::close_failed() {
  std::vector<c10::MempoolId_t> failed;
  const std::lock_guard lock(mutex_);
  std::erase_if(pools_, [&](Pool& pool) {
    const bool over = is_over(pool);
    if (over) failed.push_back(pool.id);
    return over;
  });
  open_.store(pools_.size(), std::memory_order_release);
  return failed;
}

bool OpenPools::take(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  return std::any_of(pools_.begin(), pools_.end(), [&](const Pool& pool) { return pool.filter(stream); });
}

bool OpenPools::capturing() {
  if (!any()) return false;
  const std::lock_guard lock(mutex_);
  return std::any_of(pools_.begin(), pools_.end(),
                     [](Pool& pool) { return pool.is_capture && !is_over(pool); });
}

}  // namespace stowage::plugin
