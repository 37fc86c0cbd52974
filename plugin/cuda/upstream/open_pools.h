// The job's own memory pools that are open on a device, and which of them are graph captures.
//
// Between beginAllocateToPool and endAllocateToPool PyTorch serves from a private pool the requests that the
// pool's filter accepts, by thread or by stream. All others are served as usual, also by a plan. During a
// graph capture no event may be touched, and no memory mapped or released, on any stream of the device.
//
// In torch 2.11 and 2.12 a failed capture ends without endAllocateToPool. It is over when its stream is not
// capturing and either was seen capturing, or the thread that began the capture calls again. Thread safety:
// every member, from any thread. Filters, which are PyTorch's, are called under our mutex.
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

  /// False: no pool is open. The first check of a request.
  [[nodiscard]] bool any() const noexcept { return open_.load(std::memory_order_acquire) != 0; }
  /// `pool` opens, begun by the calling thread on `stream`.
  void open(c10::MempoolId_t pool, Filter filter, cudaStream_t stream);
  /// False: it was not open, such as one from before Stowage was installed.
  bool close(c10::MempoolId_t pool);
  /// Closes the pools of failed captures and returns them: PyTorch's allocator still has them open.
  [[nodiscard]] std::vector<c10::MempoolId_t> close_failed();
  /// True if one of the pools serves the calling thread on `stream`.
  [[nodiscard]] bool take(cudaStream_t stream);
  /// A graph is captured on this device, or about to be.
  [[nodiscard]] bool capturing();
  /// A graph was ever captured on this device.
  [[nodiscard]] bool has_captured() const noexcept { return captured_.load(std::memory_order_relaxed); }

 private:
  struct Pool {
    c10::MempoolId_t id;
    Filter filter;
    cudaStream_t stream;
    std::thread::id thread;
    bool is_capture;
    bool seen;  ///< while it captured
  };
  static bool is_over(Pool& pool);

  std::atomic<std::size_t> open_{0};
  std::atomic<bool> captured_{false};
  std::mutex mutex_;
  std::vector<Pool> pools_;
};

}  // namespace stowage::plugin
