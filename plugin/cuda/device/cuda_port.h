// A CUDA device as the session needs it: the arena, fences as pooled events, what upstream holds, and the
// ledger of a budget.
//
// Registers its arenas in the process-wide directory (arena_directory.h), which maps a bare pointer to
// its device. During a graph capture fences are not touched: querying or recording an event would break
// the capture, so they count as not passed until it is over. Thread safety: every member, from any
// thread.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "plugin/cuda/device/stream_table.h"
#include "plugin/cuda/upstream/open_pools.h"
#include "plugin/cuda/upstream/upstream_limit.h"
#include "session/ports/device_port.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

struct ArenaEntry;
struct CudaDevice;

class CudaPort final : public session::DevicePort {
 public:
  using Upstream = c10::cuda::CUDACachingAllocator::CUDAAllocator;

  /// `owner`: the device that owns this port's arenas. All references but `settings` outlive the port.
  CudaPort(c10::DeviceIndex index, CudaDevice& owner, Upstream& upstream, OpenPools& pools,
           MemoryFraction& fraction, const session::Settings& settings);
  ~CudaPort() override;

  TraceInfo describe() override;
  Result<std::unique_ptr<allocator::Arena>> map_arena(Bytes bytes, allocator::Backing backing) override;
  Bytes arena_page() override;
  allocator::ArenaCounters* arena_counters() override;
  void release_upstream_cache() override;
  void part_optimizer_state(bool begins) override;
  bool gather_lasting(const std::function<void()>& move) override;
  void even_out(bool evicted, bool planned) override;
  void stay_out() override;
  session::UpstreamUse upstream_use() override;
  std::optional<Bytes> peak_together() override;
  Bytes upstream_growth(Bytes bytes, StreamId stream) override;
  Bytes largest_cached() override;
  [[nodiscard]] bool may_wait() const override { return !pools_.capturing(); }
  [[nodiscard]] bool commits_in_parts() const override { return is_expandable(); }
  void count_upstream() override;
  std::optional<Bytes> free_memory() override;
  bool finish_work() override;
  [[nodiscard]] bool is_read_by_address() const override { return shared_.load() || pools_.has_captured(); }
  void on_block(session::BlockEvent event, void* address, Bytes bytes, StreamId stream) override;
  void on_arena_use(std::int64_t delta) override { limit_.note_arena(delta); }
  std::shared_ptr<tracer::OpClock> make_op_clock() override;
  StreamId current_stream() override;
  std::uint64_t record_fence(StreamId stream) override;
  bool fence_passed(std::uint64_t fence) override;
  void wait_for_fence(std::uint64_t fence) override;
  session::Ledger* ledger() override { return &ledger_; }

  /// Upstream's figures may have changed: updates the peaks of upstream and arenas together.
  void note_upstream();
  /// Memory of this device goes to another process.
  void note_shared() { shared_.store(true); }
  /// Holds upstream to the budget.
  UpstreamLimit& limit() { return limit_; }
  [[nodiscard]] const UpstreamLimit& limit() const { return limit_; }
  /// The user's memory fraction, for this device's arenas and upstream together.
  MemoryFraction& fraction() { return fraction_; }
  /// Gives `peer` access to this device's arenas, now and later. Error: kUnsupported, with the driver's text.
  Status add_peer(c10::DeviceIndex peer);
  /// Gives all peers so far access to a segment. Error: as add_peer. Requires: `arena.changing` is held.
  Status share_with_peers(const ArenaEntry& arena, const allocator::Segment& segment);
  /// True if arenas are mapped memory, which legacy IPC refuses and which peers need explicit access to.
  [[nodiscard]] bool is_expandable() const { return settings_.arena == session::ArenaBackend::kVmm; }
  /// A budget limits upstream and relies on its present page size.
  [[nodiscard]] bool pages_are_counted() const { return ledger_.limited(); }
  /// The device's streams; the adaptor looks them up here.
  StreamTable& streams() { return streams_; }

 private:
  struct Fence {
    cudaEvent_t event = nullptr;  ///< null: not recorded yet, since a capture was underway
    StreamId stream{0};
  };
  c10::CachingDeviceAllocator::DeviceStats noted_upstream();
  Status share(const ArenaEntry& arena, const allocator::Segment& segment, c10::DeviceIndex peer);
  /// An event from the pool, or a new one; null if CUDA has none.
  cudaEvent_t take_event();
  [[nodiscard]] cudaEvent_t new_event() const;
  /// Records `event` after the present work of `stream`. A failure leaves it to the next query.
  bool record(cudaEvent_t event, StreamId stream);

  c10::DeviceIndex index_;
  CudaDevice& owner_;
  Upstream& upstream_;
  OpenPools& pools_;  ///< of this device
  session::Settings settings_;
  StreamTable streams_;
  MemoryFraction& fraction_;
  UpstreamLimit limit_;
  session::Ledger ledger_;
  const bool saw_all_;  ///< upstream had given out nothing before
  std::once_flag counted_;
  std::atomic<bool> shared_{false};
  std::int64_t mended_before_ = 0;  ///< at the last even_out()
  bool evens_out_ = false;

  std::mutex peers_mutex_;
  std::vector<c10::DeviceIndex> peers_;

  std::mutex fences_mutex_;
  std::unordered_map<std::uint64_t, Fence> fences_;
  std::vector<cudaEvent_t> free_events_;
  std::uint64_t next_fence_ = 1;
};

}  // namespace stowage::plugin
