// The job's own memory pools that are open on a device, and which of them are graph captures.
//
// Between beginAllocateToPool and endAllocateToPool PyTorch routes to a private pool the requests that the
// pool's filter accepts, by thread or by stream; all others it serves as ever, and so may a plan. While a
// graph is captured no event may be touched, nor memory be mapped or given back, on any stream of the device.
//
// A capture that fails ends without endAllocateToPool in torch 2.11 and 2.12. It is over when its stream
// captures no more and either a call has seen it capture, or the thread that began it has moved on. Thread
// safety: every member, from any thread. Filters, PyTorch's own, are called under a mutex of ours.
#pragma once

#include <c10/core/Allocator.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stowage::plugin {

class OpenPools {
 public:
  using Filter = std::function<bool(cudaStream_t)>;

  /// False: no pool is open. Each request checks this first.
  [[nodiscard]] bool any() const noexcept { return open_.load(std::memory_order_acquire) != 0; }
  /// `pool` opens, begun by the calling thread on `stream`.
  void open(c10::MempoolId_t pool, Filter filter, cudaStream_t stream);
  /// False: it was not open, such as one from before Stowage was installed.
  bool close(c10::MempoolId_t pool);
  /// Closes the captures that have failed. Their pools: PyTorch's allocator still has them open.
  [[nodiscard]] std::vector<c10::MempoolId_t> close_failed();
  /// A request of the calling thread on `stream` is for one of the pools.
  [[nodiscard]] bool take(cudaStream_t stream);
  /// A graph is captured on this device, or about to be.
  [[nodiscard]] bool capturing();

 private:
  struct Pool {
    c10::MempoolId_t id;
    Filter filter;
    cudaStream_t stream;
    std::thread::id thread;
    bool is_capture;
    bool seen;  ///< capturing
  };
  static bool is_over(Pool& pool);

  std::atomic<std::size_t> open_{0};
  std::mutex mutex_;
  std::vector<Pool> pools_;
};

}  // namespace stowage::plugin
