// The torch of a running process, as sessions need it: optimizer steps mark all sessions, ops go to the
// recorders that ask for them, and room is made by the runtime that evicts and recomputes
// (recompute/recompute.h).
//
// Thread safety: as TorchPort.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plugin/torch/debugging.h"
#include "plugin/torch/rescue_recording.h"
#include "session/ports/runtime_users.h"
#include "session/ports/torch_port.h"
#include "tracer/clocks/op_clock.h"

namespace c10 {
struct StorageImpl;
}

namespace stowage::plugin {

class LiveTorch final : public session::TorchPort {
 public:
  /// Python is available. Call it before sessions are made; if later, tell the sessions that wait for it
  /// (Session::guards_placed).
  void set_guard_placer(session::GuardPlacer placer) { users_.set_guard_placer(placer); }

  /// `storage` was there before the runtime: it may be offloaded, too.
  void know(c10::StorageImpl* storage);
  /// STOWAGE_VERIFY and STOWAGE_EVICT.
  [[nodiscard]] Debugging& debugging() { return debugging_; }
  /// The process is at its end: torch may be gone in parts, so clocks are not destroyed from now on.
  void at_process_end() noexcept { at_end_.store(true); }
  /// Tells all sessions that an iteration ended.
  void mark_all(MarkSource source);

  /// Stops watching once no session needs marks.
  void watch_steps() override;
  std::uint32_t observe_ops(std::shared_ptr<tracer::Recorder> recorder, const Device& device,
                            session::DevicePort& port) override;
  void unobserve_ops(const Device& device) override;
  void finish_ops(tracer::Recorder& recorder, const Device& device) override;

  [[nodiscard]] bool guards_are_known() const override { return users_.guards_are_known(); }
  Status begin_rescue() override { return users_.begin(); }
  Status join_rescue(bool on_this_stream) override;
  bool call_between_ops(std::function<void()> work) override;
  void end_rescue() override { users_.end(); }

  void end_iteration() override;
  void note_limit(Bytes limit, const Device& device) override;
  bool make_room(Bytes bytes, const Device& device) override;
  [[nodiscard]] bool recomputes() const override;
  [[nodiscard]] bool may_fail() const override;
  Bytes gather_lasting(const Device& device) override;
  bool make_contiguous_room(Bytes bytes, const Device& device, const FreeSpace& space) override;
  [[nodiscard]] Bytes evictable(const Device& device) const override;
  std::string explain(const Shortage& shortage, const Device& device) override;
  [[nodiscard]] RuntimeCounters counters() const override;
  [[nodiscard]] std::optional<std::int64_t> bytes_away() const override;
  [[nodiscard]] std::uint64_t threads_in_iterations() const override;

  std::uint32_t record_next(session::DevicePort* port) override;
  std::optional<Result<StepLog>> take_log() override;
  Status follow(const Schedule& schedule) override;
  void leave() override;
  [[nodiscard]] FollowCounters follow_counters() const override;

  [[nodiscard]] std::optional<session::RankGroup> rank_group() override;

 private:
  friend LiveTorch& live_torch();
  LiveTorch();
  void stop_where_nobody_listens();

  RescueRecording rescue_recording_;
  session::RuntimeUsers users_;
  Debugging debugging_{users_};
  std::atomic<std::uint64_t> ended_iterations_{0};  ///< that sessions reported to the runtime
  std::atomic<bool> at_end_{false};
  std::atomic<bool> on_this_stream_{false};  ///< what know() is told of, while a budget joins
  std::mutex mutex_;
  struct Observed {
    std::shared_ptr<tracer::OpClock> clock;  ///< null: the host's time
    session::DevicePort* port;
  };
  std::map<Device, Observed> observed_;  ///< devices whose ops are recorded
  bool steps_observed_ = false;
};

/// The one of the process. Never destroyed.
LiveTorch& live_torch();

}  // namespace stowage::plugin
