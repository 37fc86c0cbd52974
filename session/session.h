// Moves one device's job along: Recording → Planning → Planned → (diverged) → Recording …, as in
// docs/design.md. A conductor: recorder, planner and planned allocator do the work; adaptors (cuda_adaptor.h,
// cpu_adaptor.h) call in.
//
// Thread safety: every member may be called from any thread. Upstream is never called with a lock of ours
// held. No exception leaves a member; a failure inside becomes one warning and the state kOff, and the job
// continues unplanned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/free_space.h"
#include "core/trace.h"
#include "session/arena/session_hot.h"
#include "session/plans/plan_source.h"
#include "session/ports/device_port.h"
#include "session/ports/torch_port.h"
#include "session/settings/settings.h"
#include "session/states/states.h"

namespace stowage::session {

class Session {
 public:
  /// Starts recording at once and joins the sessions of the process (registry.h), which are told of
  /// optimizer steps and forks. `port` and `torch` must outlive the session. `plans` is for tests; by
  /// default the background planner.
  Session(DevicePort& port, TorchPort& torch, const Settings& settings,
          std::unique_ptr<PlanSource> plans = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The planned address for a request of `bytes` > 0, or nullptr: the caller serves it upstream and then
  /// calls on_upstream_alloc. The hot path.
  [[gnu::always_inline]] void* try_allocate(Bytes bytes, StreamId stream) {
    allocator::PlannedAllocator* planned = hot_.serving.load(std::memory_order_acquire);
    if (planned == nullptr || hot_.allocation_is_watched()) [[unlikely]]
      return try_allocate_watched(bytes, stream);
    return planned->allocate(bytes, stream);
  }
  void on_upstream_alloc(void* address, Bytes bytes, StreamId stream);
  /// Call before an unplanned request to upstream: if arena and upstream would then hold more than the
  /// job was seen to need, gives idle memory of the arena back to the device first, and waits for the
  /// device.
  void before_upstream_alloc(Bytes bytes, StreamId stream);
  /// True if `address` was the arena's and is now freed; false: the caller frees it upstream (already noted
  /// here).
  bool free(void* address);
  /// Frees an address of the arena. False, and nothing happens: no live block begins there. The hot path.
  [[nodiscard, gnu::always_inline]] bool free_block(void* address) {
    allocator::PlannedAllocator* owner = hot_.owner.load(std::memory_order_acquire);
    if (owner == nullptr || hot_.free_is_watched() || !owner->try_free(address)) [[unlikely]]
      return free_block_watched(address);
    return true;
  }
  /// True if `address` lies in the arena, or in a former one where a tensor still lives.
  [[nodiscard]] bool owns(const void* address) const noexcept;
  /// The live block that begins at `address`; none in a forked child.
  [[nodiscard]] std::optional<allocator::ArenaBlock> block_at(const void* address) const;
  /// The live blocks of the arena that contains `address`, and those that wait for other streams, in order
  /// of offset; none in a forked child.
  [[nodiscard]] std::vector<allocator::ArenaBlock> active_blocks(const void* address) const;
  /// Rounded size of an arena address. Requires: owns(address).
  [[nodiscard]] Bytes size_of(const void* address) const;
  /// record_stream. True if the arena's; false: the caller passes it on upstream (already noted here).
  bool record_stream(void* address, StreamId stream);
  /// Completes the frees that wait for other streams, and waits for these streams. Not while a graph is
  /// being captured.
  void finish_frees();
  /// Whether to report every block of the arena to the port (DevicePort::on_block).
  void watch_blocks(bool wanted);
  /// An iteration ended. May switch states, release upstream's cache and map the arena.
  void on_mark(MarkSource source);
  /// False once marks have no effect any more: it is off, and its arena was given back.
  [[nodiscard]] bool needs_marks() const noexcept;
  /// An optimizer step begins or ends. It does not end an iteration: on_mark() does.
  void on_optimizer_begin();
  void on_optimizer_end();
  /// True while one of the first optimizer steps runs: most of its allocations are optimizer state and last,
  /// so upstream, which serves them all, should keep them apart from short-lived ones.
  [[nodiscard]] bool expects_lasting() const noexcept;

  /// True while the job makes its model, as far as allocations show: the first one was seen, nothing was
  /// freed since, and no iteration ended. What it allocates then without gradients most likely lasts, too.
  [[nodiscard]] bool expects_parameters() const;

  [[nodiscard]] SessionState state() const;
  [[nodiscard]] const TraceInfo& info() const;  ///< the device, as it was when the session was made
  [[nodiscard]] Bytes arena_bytes() const;      ///< backed by memory, former arenas included
  [[nodiscard]] Bytes arena_live_bytes() const;
  [[nodiscard]] Bytes peak_bytes()
      const;  ///< of arena and upstream together since reset_peak; 0 without arena
  void reset_peak();
  /// The report as a JSON object; keys in docs/report.md.
  [[nodiscard]] std::string report_json() const;
  /// Writes the recorded trace to `path`.
  Status save_trace(const std::string& path) const;
  /// Another `bytes` do not fit into the budget: makes room by evicting, or by giving up unused parts of the
  /// arena. True if something changed: ask the ledger again. Call with no lock held.
  bool make_room(Bytes bytes);
  /// Upstream refused `bytes`: evicts tensors to make contiguous room for them in `space`. True if anything
  /// was evicted.
  bool make_contiguous_room_upstream(Bytes bytes, const FreeSpace& space);
  /// As make_room() where upstream refused `bytes`. True if something was freed: ask upstream again.
  bool make_room_upstream(Bytes bytes);
  /// Gives unused memory of the arenas back to the device: page by page while a plan is followed, which
  /// takes new memory as needed; else the whole arena. First waits for blocks that other streams still use,
  /// as upstream does with its own. Waits for the device.
  void give_back_idle();
  /// The sentence for an out-of-memory error where make_room() could not help.
  /// `workspaces`: bytes of upstream's blocks that cuBLAS holds, as far as the caller knows.
  [[nodiscard]] std::string explain_shortage(Bytes bytes, Bytes workspaces = Bytes(0)) const;
  /// The same, where "auto" has not taken effect yet: it does now, if the job goes on after the error. Empty
  /// if it would make no difference.
  [[nodiscard]] std::string explain_unseen_shortage();
  /// The most that one request can get under the budget, once all is evicted that may be; nothing if there is
  /// no limit. Walks over all tensors: for callers that ask rarely.
  [[nodiscard]] std::optional<Bytes> most_room() const;
  /// The session holds a budget, or will.
  [[nodiscard]] bool has_budget() const;
  /// Python's guards are available: a budget that waited for them takes effect.
  void guards_placed();
  /// The calling thread is between ops: a budget of "auto" takes effect, if the job has nearly filled the
  /// device, or ends, if it turned out that the job fits.
  void between_ops();
  /// Rescue evicts the tensor at `address`, whose memory is freed next, brings the one named `id` back, or
  /// will not any more: for the recording (tracer/recorder/recorder.h), which leaves that out. Any address.
  void on_set_aside(const void* address, std::uint64_t id);
  void on_brought_back(const void* address, std::uint64_t id);
  void on_aside_gone(std::uint64_t id);
  /// Stops serving: every later request goes upstream; live arena addresses stay valid until freed.
  void stop();
  /// stop(), then waits until the planner's thread no longer uses the session. Call at process exit.
  void stop_and_wait();
  /// In a forked child: off from now on, without taking a lock. Frees of arena addresses become no-ops.
  void after_fork() noexcept;

  struct State;  ///< session_state.h

 private:
  void* try_allocate_watched(Bytes bytes, StreamId stream);
  bool free_block_watched(void* address);
  /// The allocator whose arena `address` lies in, or null.
  [[nodiscard]] allocator::PlannedAllocator* owner_of(const void* address) const noexcept;
  void watch_period(Bytes bytes, StreamId stream);
  SessionHot hot_;
  std::unique_ptr<State> state_;
};

}  // namespace stowage::session
