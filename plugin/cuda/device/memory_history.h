// PyTorch's memory history and trace trackers: reports the arena's blocks as native reports its own.
//
// Native's history is private. To show planned and upstream blocks in one list, in chronological order,
// this class keeps its own: upstream's events arrive through a trace tracker, the arena's from the adaptor
// and its ports, and a snapshot shows this list in place of upstream's. Upstream still keeps its own
// history, which a job has after Stowage is uninstalled. Which contexts are gathered, and what
// skip_actions, max_entries and clear_history mean: as in native (c10/cuda/CUDACachingAllocator.cpp,
// record_trace).
// Thread safety: every member, from any thread. One mutex. It is taken under upstream's lock, so upstream
// is never called while it is held. Contexts are gathered outside it, since that may wait for the GIL.
// Trackers are called with it held, one event at a time. Never destroyed: upstream cannot remove a
// tracker.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/ApproximateClock.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/units.h"

namespace stowage::plugin {

class MemoryHistory {
 public:
  using Upstream = c10::cuda::CUDACachingAllocator::CUDAAllocator;
  using Event = c10::CachingDeviceAllocator::TraceEntry;
  using Tracker = c10::CachingDeviceAllocator::AllocatorTraceTracker;
  using CreateContext = c10::CachingDeviceAllocator::CreateContextFn;
  using RecordContext = c10::CachingDeviceAllocator::RecordContext;
  using Context = std::shared_ptr<c10::GatheredContext>;
  using Snapshot = c10::cuda::CUDACachingAllocator::SnapshotInfo;

  /// `watch` is called, with no lock held, when is_watching() has changed.
  MemoryHistory(Upstream& upstream, std::function<void()> watch);

  /// CUDAAllocator::recordHistory. Throws what upstream throws. Requires: upstream is initialised.
  void record(bool enabled, CreateContext recorder, std::size_t max_entries, RecordContext when, bool clear,
              const std::vector<std::string>& skip_actions);
  /// Continues a history that upstream kept before the install. How it gathers contexts is not known, so
  /// arena blocks get Python frames. Does nothing if there is none, or it was taken over already.
  void take_over();
  /// CUDAAllocator::attachAllocatorTraceTracker. Requires: upstream is initialised.
  void add_tracker(Tracker tracker);
  /// Arena blocks are of interest: history is recorded, trackers are there, or live blocks have contexts.
  [[nodiscard]] bool is_watching() const { return watching_.load(std::memory_order_relaxed); }

  /// Events of an arena block of `device`. Report a free while the block still belongs to the caller.
  void on_alloc(c10::DeviceIndex device, const void* address, Bytes requested, void* stream);
  void on_free_requested(c10::DeviceIndex device, const void* address, Bytes requested, void* stream);
  /// `late`: not with its request, but once a later call found that no stream uses the block any more.
  void on_free_completed(c10::DeviceIndex device, const void* address, bool late);
  /// Arena memory was mapped or unmapped: SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP or SEGMENT_UNMAP. Has no
  /// frames: a growing arena is locked, and gathering frames waits for the GIL.
  void on_segment(Event::Action action, c10::DeviceIndex device, const void* address, Bytes bytes);

  /// The compile context of the calling thread, as upstream gets it.
  void push_compile_context(const std::string& context);
  void pop_compile_context();

  /// The entries so far, by device; times in µs since the epoch. Empty where nothing was ever recorded.
  [[nodiscard]] std::vector<std::vector<Event>> entries();
  /// What was gathered when the live block at `address` was allocated; null if nothing was.
  [[nodiscard]] Context context_of(const void* address) const;

 private:
  /// A live arena block that was allocated, or freed, while is_watching().
  struct Block {
    Bytes requested{0};
    void* stream = nullptr;
    Context context;  ///< of the allocation
    Context freed;    ///< of the free
  };

  /// Labels that the calling thread attaches to all its events.
  struct Labels {
    std::string compile_context;
    std::string user_metadata;
  };

  void listen_to_upstream();
  [[nodiscard]] Labels labels() const;
  void on_upstream(const Event& event);
  /// Requires: no lock of ours is held.
  [[nodiscard]] Context gather(RecordContext level) const;
  /// Calls the trackers and, unless the action is skipped, records the event. Requires: mutex_ is held.
  void tell(const Event& event);
  [[nodiscard]] Event event_of(Event::Action action, c10::DeviceIndex device, const void* address,
                               const Block& block, const Context& context, const Labels& labels) const;
  /// Recomputes watching_. Requires: mutex_ is held.
  void update_watching();

  Upstream& upstream_;
  const std::function<void()> watch_;
  std::atomic<bool> watching_{false};
  std::atomic<CreateContext> recorder_{nullptr};
  std::atomic<RecordContext> level_{RecordContext::NEVER};
  c10::ApproximateClockToUnixTimeConverter clock_;

  std::mutex setting_;  ///< one change of what is recorded at a time; taken before mutex_
  mutable std::mutex mutex_;
  bool listening_ = false;  ///< to upstream
  bool recording_ = false;
  bool ever_recorded_ = false;
  std::size_t max_entries_ = 1;
  std::unordered_set<Event::Action> skipped_;
  std::vector<Tracker> trackers_;
  std::map<c10::DeviceIndex, std::deque<Event>> events_;
  std::map<c10::DeviceIndex, std::vector<Event>> before_;  ///< taken over, with converted times
  std::unordered_map<const void*, Block> blocks_;
};

}  // namespace stowage::plugin
