// PyTorch's CUDA allocator with Stowage in front: the arena serves planned requests, upstream serves the
// rest.
//
// A complete CUDAAllocator: it delegates what Stowage does not handle (graph pools, MemPool, IPC,
// history, unknown pointers) to the native allocator, and adds the arena to native statistics and
// snapshots. It is installed before or after CUDA is initialised (cuda_install.h). Upstream's data
// carries our deleter, so that the session sees every free; wherever the native allocator checks
// deleters, it gets its own.
//
// Two modes: active serves plans; passive (uninstalled) returns upstream's data unchanged, and only frees
// ours. Thread safety: every member, from any thread. Never calls upstream while holding one of our locks.
// Exceptions: upstream's propagate (c10::OutOfMemoryError, with a line on the arena added); ours never do.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plugin/cuda/device/arena_directory.h"
#include "plugin/cuda/device/cuda_device.h"
#include "plugin/cuda/device/device_listener.h"
#include "plugin/cuda/device/memory_history.h"
#include "plugin/cuda/upstream/memory_fraction.h"
#include "plugin/cuda/upstream/open_pools.h"
#include "plugin/cuda/upstream/torch_versions.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

namespace torch_cuda = c10::cuda::CUDACachingAllocator;

class CudaAdaptor final : public torch_cuda::CUDAAllocator, public DeviceListener {
 public:
  /// Devices per process; PyTorch's own bound (C10_COMPILE_TIME_MAX_GPUS) is not larger.
  static constexpr c10::DeviceIndex kMaxDevices = 120;

  /// `upstream` is the native allocator, which lives as long as the process.
  explicit CudaAdaptor(torch_cuda::CUDAAllocator& upstream);

  // What Stowage adds.

  /// Starts serving with fresh sessions, one per device, made on its first request.
  void activate(const session::Settings& settings);
  /// Stops all sessions; later requests are upstream's. Live arena blocks stay valid.
  void deactivate();
  /// Goes passive if every session is off, and restores the user's settings of upstream, unless
  /// `keep_settings`. May synchronise.
  void rest(bool keep_settings = false);
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_acquire); }
  /// Stowage handles requests: it is active, and the user has not switched caching off.
  [[nodiscard]] bool serves() const { return serves_.load(std::memory_order_acquire); }
  /// True if no block of an arena and no upstream block under our deleter is live: nothing refers to the
  /// adaptor any more.
  [[nodiscard]] bool unreferenced() const;
  /// The session of `device`, or nullptr before its first request.
  [[nodiscard]] session::Session* session_of(c10::DeviceIndex device) const;
  torch_cuda::CUDAAllocator& upstream() { return upstream_; }
  /// PyTorch's memory history, including the arenas' events.
  MemoryHistory& history() override { return history_; }
  void on_session_off() override { rest(/*keep_settings=*/true); }
  /// Memory for `bytes` > 0 on the given device and stream: the arena's or upstream's. For the C ABI.
  void* allocate_on(std::size_t bytes, c10::DeviceIndex device, cudaStream_t stream);
  /// record_stream for a bare pointer of the arena or of upstream.
  void record_stream_of(void* address, c10::cuda::CUDAStream stream);

  // c10::Allocator and c10::DeviceAllocator.
  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t bytes) const override;
  bool initialized() override;
  void emptyCache(c10::MempoolId_t pool = {0, 0}) override;
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override;
  void resetAccumulatedStats(c10::DeviceIndex device) override;
  void resetPeakStats(c10::DeviceIndex device) override;
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override;

  // c10::cuda::CUDACachingAllocator::CUDAAllocator.
  void* raw_alloc(std::size_t bytes) override;
  void* raw_alloc_with_stream(std::size_t bytes, cudaStream_t stream) override;
  void raw_delete(void* address) override;
  void init(int device_count) override;
  double getMemoryFraction(c10::DeviceIndex device) override;
  void setMemoryFraction(double fraction, c10::DeviceIndex device) override;
  std::vector<torch_cuda::StreamSegmentSize> getExpandableSegmentSizes(c10::DeviceIndex device) override;
  void enable(bool value) override;
  bool isEnabled() const override;
  void cacheInfo(c10::DeviceIndex device, std::size_t* largest) override;
  void* getBaseAllocation(void* address, std::size_t* bytes) override;
  using CUDAAllocator::recordStream;
  void recordStream(const c10::DataPtr& data, c10::cuda::CUDAStream stream) override;
  torch_cuda::SnapshotInfo snapshot(c10::MempoolId_t pool = {0, 0}, bool include_traces = true) override;
  void beginAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                           std::function<bool(cudaStream_t)> filter) override;
  void endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool) override;
  void releasePool(c10::DeviceIndex device, c10::MempoolId_t pool) override;
  int getPoolUseCount(c10::DeviceIndex device, c10::MempoolId_t pool) override;
  void createOrIncrefPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                          std::shared_ptr<torch_cuda::CUDAAllocator> allocator = nullptr) override;
  void setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool, bool use_on_oom) override;
  void setNoSplit(c10::DeviceIndex device, c10::MempoolId_t pool) override;
  bool checkPoolLiveAllocations(c10::DeviceIndex device, c10::MempoolId_t pool,
                                const std::unordered_set<void*>& expected) override;
  torch_cuda::ShareableHandle shareIpcHandle(void* address) override;
  std::shared_ptr<void> getIpcDevPtr(std::string handle) override;
  bool isHistoryEnabled() override;
  void recordHistory(bool enabled, torch_cuda::CreateContextFn context_recorder, std::size_t max_entries,
                     torch_cuda::RecordContext when, bool clear_history,
                     const std::vector<std::string>& skip_actions) override;
  void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& metadata) override;
  void pushCompileContext(std::string& context) override;
  void popCompileContext() override;
  void setUserMetadata(const std::string& metadata) override;
  std::string getUserMetadata() override;
  void attachOutOfMemoryObserver(torch_cuda::OutOfMemoryObserver observer) override;
  void attachAllocatorTraceTracker(torch_cuda::AllocatorTraceTracker tracker) override;
  void enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex peer) override;
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                          cudaStream_t stream, bool p2p_enabled) override;
  std::shared_ptr<torch_cuda::AllocatorState> getCheckpointState(c10::DeviceIndex device,
                                                                 c10::MempoolId_t pool) override;
  torch_cuda::CheckpointDelta setCheckpointPoolState(
      c10::DeviceIndex device, std::shared_ptr<torch_cuda::AllocatorState> state) override;
  std::string name() override;
#if STOWAGE_TORCH_OOM_REJECTION
  std::shared_ptr<c10::GatheredContext> getContextForPointer(const void* address) override;
  void attachOomRejectionObserver(torch_cuda::OomRejectionObserver observer) override;
#endif
#if STOWAGE_TORCH_CAPTURE_MARKS
  void markCaptureBegin(c10::DeviceIndex device) override;
  void markCaptureEnd(c10::DeviceIndex device) override;
  c10::DataPtr allocateWithAddress(std::size_t bytes, void* address) override;
#endif
#if STOWAGE_TORCH_ANNOTATIONS
  bool supportsUserMetadata() override;
  void annotateMemory(const void* address, const std::string& metadata) override;
#endif

 private:
  /// Our one deleter, for arena and upstream blocks alike. Context == data pointer, as cudagraph trees
  /// demand.
  static void delete_any(void* address);
  CudaDevice* device_for(c10::DeviceIndex index) {
    CudaDevice* device = devices_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
    return device != nullptr ? device : make_device(index);
  }
  /// Null also while another thread creates it: upstream serves requests meanwhile.
  CudaDevice* make_device(c10::DeviceIndex index);
  /// Requires: making_ is held.
  void set_active(bool active);
  /// The device, or null if it was not created or is not in use.
  [[nodiscard]] CudaDevice* known_device(c10::DeviceIndex index) const;
  OpenPools& pools_of(c10::DeviceIndex index) { return pools_[static_cast<std::size_t>(index)]; }
  /// True if an open pool of the job serves the calling thread on `stream`. Requires: a pool is open.
  bool goes_to_pool(c10::DeviceIndex index, cudaStream_t stream);
  /// Closes pools that failed graph captures left open, in upstream too.
  void forget_failed_captures(c10::DeviceIndex index);
  /// The planned address on the stream with ordinal `id`, or nullptr.
  void* try_arena(CudaDevice& device, std::size_t bytes, StreamId id);
  /// Evicts for `bytes` that upstream refused under a budget. True if anything was freed. within_budget()
  /// repeats this until upstream serves the request, or explains the error once nothing can be freed.
  bool make_room(CudaDevice& device, std::size_t bytes, cudaStream_t stream);
  /// The result of `ask` from upstream; after an out-of-memory error, applies a remedy and asks again.
  template <class Ask>
  auto ask_upstream(c10::DeviceIndex index, Ask ask);
  using Remedy = void (CudaAdaptor::*)(c10::DeviceIndex);
  [[nodiscard]] bool has_remedies(c10::DeviceIndex index) const;
  /// Gives back idle memory of the device's arenas, also of sessions that have ended.
  void give_back_idle_arenas(c10::DeviceIndex index);
  /// Restores the user's settings of upstream: with ours, its pages are larger than most requests need.
  void yield_expandable_segments(c10::DeviceIndex index);
  /// Applies our settings again, if restoring the user's did not help.
  void resume_expandable_segments();
  bool restore_settings();  ///< true if any were ours
  template <class Ask>
  auto within_budget(CudaDevice& device, std::size_t bytes, cudaStream_t stream, Ask ask);
  /// Memory from upstream; tells the session unless `id` is kNone. `caller`: the requesting code, or null.
  c10::DataPtr allocate_upstream(CudaDevice* device, std::size_t bytes, StreamId id, const void* caller);
  /// Memory from upstream; tells no session.
  c10::DataPtr allocate_past(std::size_t bytes);
  /// An upstream block that is kept apart from short-lived ones, or nullptr if `bytes` need not be.
  void* allocate_lasting(CudaDevice& device, std::size_t bytes, StreamId id, const void* caller);
  c10::DataPtr adopt(c10::DataPtr data);
  /// Raises c10::Error if no live block begins at `address`. Requires: it lies in the arena.
  static void free_arena_block(const ArenaEntry& arena, void* address);
  [[noreturn]] static void refuse_free(void* address);
  static void tell_of_free(const ArenaEntry& arena, void* address);
  void delete_upstream(void* address);
  void tell_sessions_of_free(void* address);
  /// Tells PyTorch's profiler and its sanitizer hooks.
  void tell_of_allocation(CudaDevice& device, void* address, std::size_t bytes);
  void report_to_profiler(CudaDevice& device, void* address, std::int64_t bytes);
  torch_cuda::ShareableHandle share_malloc_arena(const ArenaEntry& entry, void* address);
  std::vector<CudaDevice*> devices_of(c10::DeviceIndex index) const;
  std::string arena_line(c10::DeviceIndex index) const;
  /// Upstream's error with what Stowage knows of it.
  c10::OutOfMemoryError explained(const c10::OutOfMemoryError& error, CudaDevice& device, std::size_t bytes,
                                  bool limited);

  /// Upstream's figures may have changed, on any device that has a session.
  void note_upstream();
  /// Tells all sessions whether the memory history needs events of their blocks.
  void update_watching();

  torch_cuda::CUDAAllocator& upstream_;
  MemoryHistory history_;
  std::atomic<bool> active_{false};
  std::atomic<bool> serves_{false};  ///< active, and the user has not switched caching off
  /// Upstream's deleter for cached memory. While caching is off its raw_deleter() is another one, which must
  /// not free blocks that were adopted before.
  std::atomic<c10::DeleterFnPtr> native_deleter_{nullptr};
  std::array<std::atomic<CudaDevice*>, kMaxDevices> devices_{};
  std::array<OpenPools, kMaxDevices> pools_;
  std::deque<MemoryFraction> fractions_;         ///< one per device
  std::atomic<c10::DeviceIndex> device_end_{0};  ///< devices_ from here on are null
  std::atomic<std::int64_t> adopted_{0};         ///< live upstream blocks under our deleter
  mutable std::mutex making_;                    ///< guards settings_, being_made_, joint_ and all_devices_
  std::array<bool, kMaxDevices> being_made_{};
  session::Settings settings_;
  std::atomic<bool> yielded_{false};  ///< expandable segments were given up for a request
  std::array<std::unique_ptr<JointStatistics>, kMaxDevices> joint_;  ///< of devices with a session
  std::vector<CudaDevice*> all_devices_;  ///< of earlier activations too; their blocks may be live
};

/// The adaptor of this process, or nullptr before the first install. Never destroyed.
CudaAdaptor* cuda_adaptor();

}  // namespace stowage::plugin
