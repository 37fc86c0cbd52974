// Iterations as the runtime sees them: the recorder that writes one down and the follower of a
// schedule, and when each is at work. The runtime calls it at every op and at every iteration's end.
//
// Thread safety: none; the runtime's lock guards it, except `meter`, which guards itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/step_log.h"
#include "recompute/recipe/call_hash.h"
#include "recompute/schedule/follower.h"
#include "recompute/schedule/memory_meter.h"
#include "recompute/schedule/step_recorder.h"
#include "recompute/schedule/step_times.h"

namespace stowage::recompute {

struct OpTraits;

class StepWatch final : public AsideWatch {
 public:
  StepWatch(StorageBook& book, Residency& residency)
      : book_(book), residency_(residency), follower_(book, residency) {}

  void begin_aside() noexcept override;
  void end_aside() noexcept override;

  /// False: ops need not call it.
  [[nodiscard]] bool on() const { return recorder_ != nullptr || follower_.follows(); }

  /// What one call of an op has to do with it.
  struct Call {
    std::uint64_t shape = 0;                 ///< CallHash::shape()
    const StepRecorder* recorder = nullptr;  ///< that knows it as `op`
    std::uint32_t op = 0;
    TimedOp timed;
  };
  /// An op is about to look at its arguments. Throws what recomputation throws.
  Call before_op(const CallHash& hash);
  /// begin_op() is to be called.
  [[nodiscard]] bool wants_arguments() const { return recorder_ != nullptr || follower_.asks_for_inputs(); }
  void begin_op(Call& call, const OpTraits& traits, std::span<const StepRecorder::Argument> arguments);
  /// The op runs from now on: the recorded one's time begins.
  void start_timing(Call& call) {
    if (call.recorder != nullptr && call.recorder == recorder_.get()) call.timed = times_->start();
  }
  /// The op has run.
  void stop_timing(const Call& call) {
    if (call.recorder != nullptr && times_ != nullptr) times_->stop(call.timed, call.op);
  }
  /// `costs_ns`: what such a call takes by `source`, the same in every run where that is known.
  void end_op(const Call& call, std::uint64_t costs_ns, TimeSource source,
              std::span<StorageRecord* const> made);
  /// It threw; some jobs mean to (torch.utils.checkpoint stops its recomputation that way).
  void fail_op(const Call& call);

  /// The next iteration is written down: or as many as `timer`, which may be null, wants.
  /// What was being written down is dropped. Returns how many iterations that will be.
  std::uint32_t record_next(std::unique_ptr<OpTimer> timer);
  std::optional<Result<StepLog>> take_log();
  Follower& follower() { return follower_; }

  /// Before history is cut at an iteration's end: the log is finished, and what is evicted comes back where
  /// the next iteration follows a schedule, and all that is away where one is recorded, as far as memory
  /// allows.
  void end_iteration();
  /// Called after history was cut.
  void begin_iteration();
  /// The runtime is taken out: nothing is recorded or followed any more.
  void stop();

  MemoryMeter meter;

 private:
  StorageBook& book_;
  Residency& residency_;
  Follower follower_;
  void finish_log();
  /// The meter knows of all that died while it was evicted.
  void note_evicted_dead();

  std::unique_ptr<StepRecorder> recorder_;
  std::uint64_t died_ = 0;               ///< ResidencyCounts::died_total that the meter knows of
  std::vector<std::uint64_t> replayed_;  ///< StepLog::replayed, of what it records
  std::unique_ptr<StepTimes> times_;     ///< of the iterations that are being written down
  std::unique_ptr<StepTimes> wanted_;    ///< from the next iteration on
  TimedOp aside_;                        ///< the outermost
  int asides_ = 0;
  std::optional<Result<StepLog>> log_;
};

}  // namespace stowage::recompute
