// What a session needs from PyTorch: its ops and optimizer steps, and the runtime that evicts and
// recomputes. Independent of torch, so that sessions are tested without it. plugin/torch/live_torch.h
// implements it in a real process.
//
// There is one runtime for all sessions of a process: it is installed while at least one of them uses it,
// and only after Python's guards (python/stowage/_guards.py), since code could otherwise read through a
// pointer from Python after its memory was evicted.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/device.h"
#include "core/result.h"
#include "core/runtime/free_space.h"
#include "core/runtime/runtime_counters.h"
#include "core/runtime/shortage.h"
#include "core/step_log.h"
#include "core/units.h"
#include "session/ports/rank_group.h"

namespace stowage::tracer {
class Recorder;
}

namespace stowage::session {

class DevicePort;

class TorchPort {
 public:
  virtual ~TorchPort() = default;

  // ---- ops and optimizer steps
  /// A session has registered: starts watching for optimizer steps, unless that runs already.
  virtual void watch_steps() = 0;
  /// From now on `recorder` gets the ops of `device`. `port` is the device's; it outlives the ops that are
  /// running when that ends. Returns over how many iterations ops should be recorded, so that their times
  /// are good: at least 1.
  virtual std::uint32_t observe_ops(std::shared_ptr<tracer::Recorder> recorder, const Device& device,
                                    DevicePort& port) = 0;
  /// No more ops of the device are recorded; their times are not wanted.
  virtual void unobserve_ops(const Device& device) = 0;
  /// No more ops of the device are recorded; passes their times to `recorder`. May wait for the device.
  virtual void finish_ops(tracer::Recorder& recorder, const Device& device) = 0;

  // ---- whether the runtime is there
  /// Python is available, so that its guards can be placed.
  [[nodiscard]] virtual bool guards_are_known() const = 0;
  /// One more session needs the runtime; the first installs it, after its guards. Error: that is impossible.
  virtual Status begin_rescue() = 0;
  /// As begin_rescue(), in the midst of an iteration: until the next mark every thread is watched, and what
  /// Python and its graphs know of the job's tensors may be offloaded; on devices with streams if they are
  /// `on_this_stream`, or once an op has used them. Requires: the calling thread is between ops.
  virtual Status join_rescue(bool on_this_stream) = 0;
  /// Calls `work` soon, on Python's main thread, between two ops. Returns at once, and may be called in an
  /// op; false: there is no Python, or it has no room for more.
  virtual bool call_between_ops(std::function<void()> work) = 0;
  /// One session fewer; the last one uninstalls the runtime. Throws what recomputation throws; then the
  /// session still uses it.
  virtual void end_rescue() = 0;

  // ---- the runtime makes room; `device` is always the one that is short
  /// An iteration ended, between ops.
  virtual void end_iteration() = 0;
  /// The job may hold at most `limit` bytes of the device from now on.
  virtual void note_limit(Bytes limit, const Device& device) = 0;
  /// True: something was freed.
  virtual bool make_room(Bytes bytes, const Device& device) = 0;
  /// The calling thread recomputes: the runtime waits for it.
  [[nodiscard]] virtual bool recomputes() const = 0;
  /// An out-of-memory error on the calling thread would not reach the job: something else is tried then.
  [[nodiscard]] virtual bool may_fail() const = 0;
  /// Moves what outlives iterations to other memory of the device, which it takes as any request does.
  /// Returns how many bytes. Between ops.
  virtual Bytes gather_lasting(const Device& device) = 0;
  /// Contiguous room in `space`; true: something was evicted for it.
  virtual bool make_contiguous_room(Bytes bytes, const Device& device, const FreeSpace& space) = 0;
  /// Bytes that make_room() may free there.
  [[nodiscard]] virtual Bytes evictable(const Device& device) const = 0;
  /// The sentence for an out-of-memory error. Empty: the job will not see the error.
  virtual std::string explain(const Shortage& shortage, const Device& device) = 0;
  [[nodiscard]] virtual RuntimeCounters counters() const = 0;
  /// Bytes that the job would hold in addition if nothing were evicted. Nothing if that is unknown, as while
  /// the calling thread recomputes: held bytes are then not the job's alone.
  [[nodiscard]] virtual std::optional<std::int64_t> bytes_away() const = 0;
  /// Threads of the job that are in an iteration, as far as known.
  [[nodiscard]] virtual std::uint64_t threads_in_iterations() const = 0;

  // ---- the runtime follows schedules: as recompute/planned.h says
  /// `port`: of the device whose clock times the ops; null: none does. It outlives the recording.
  virtual std::uint32_t record_next(DevicePort* port) = 0;
  virtual std::optional<Result<StepLog>> take_log() = 0;
  virtual Status follow(const Schedule& schedule) = 0;
  virtual void leave() = 0;
  [[nodiscard]] virtual FollowCounters follow_counters() const = 0;

  // ---- other processes
  /// The job's default process group; nothing if there is none, or none that has a store to share. Never
  /// takes Python's lock: the thread that holds it may wait for the caller.
  [[nodiscard]] virtual std::optional<RankGroup> rank_group() = 0;
};

/// For processes without torch: no ops are recorded, the runtime cannot be installed, there are no other
/// ranks, and the rest does nothing. Never destroyed.
TorchPort& no_torch();

}  // namespace stowage::session
