// Iterations as the runtime sees them: the recorder that writes one down and the follower of a
// schedule, and when each is at work. The runtime calls it at every op and at every iteration's end.
//
// Thread safety: none; the runtime's lock guards it, except `meter`, which guards itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/result.h"
#include "core/step_log.h"
#include "recompute/recipe/call_hash.h"
#include "recompute/schedule/follower.h"
#include "recompute/schedule/memory_meter.h"
#include "recompute/schedule/step_recorder.h"

namespace stowage::recompute {

struct OpTraits;

class StepWatch {
 public:
  StepWatch(StorageBook& book, Residency& residency) : residency_(residency), follower_(book, residency) {}

  /// False: ops need not call it.
  [[nodiscard]] bool on() const { return recorder_ != nullptr || follower_.follows(); }

  /// What one call of an op has to do with it.
  struct Call {
    std::uint64_t shape = 0;                 ///< CallHash::shape()
    const StepRecorder* recorder = nullptr;  ///< that knows it as `op`
    std::uint32_t op = 0;
  };
  /// An op is about to look at its arguments. Throws what recomputation throws.
  Call before_op(const CallHash& hash);
  [[nodiscard]] bool records() const { return recorder_ != nullptr; }
  void begin_op(Call& call, const OpTraits& traits, std::span<const StepRecorder::Argument> arguments);
  /// `costs_ns`: what such a call takes, the same in every run where that is known.
  void end_op(const Call& call, std::uint64_t costs_ns, std::span<StorageRecord* const> made);
  /// It threw; some jobs mean to (torch.utils.checkpoint stops its recomputation that way).
  void fail_op(const Call& call);

  /// The next iteration is written down.
  void record_next() { wanted_ = true; }
  std::optional<Result<StepLog>> take_log();
  Follower& follower() { return follower_; }

  /// Before history is cut at an iteration's end: the log is finished, and what is evicted comes back where
  /// the next iteration is recorded or follows a schedule, as far as memory allows.
  void end_iteration();
  /// Called after history was cut.
  void begin_iteration();
  /// The runtime is taken out: nothing is recorded or followed any more.
  void stop();

  MemoryMeter meter;

 private:
  Residency& residency_;
  Follower follower_;
  std::unique_ptr<StepRecorder> recorder_;
  std::optional<Result<StepLog>> log_;
  bool wanted_ = false;
};

}  // namespace stowage::recompute
