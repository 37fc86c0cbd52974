#include "recompute/schedule/step_watch.h"

#include <c10/util/Exception.h>

#include <utility>

#include "recompute/ops/op_traits.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

StepWatch::Call StepWatch::before_op(const CallHash& hash) {
  Call call;
  call.shape = hash.shape();
  follower_.before_op(call.shape);
  return call;
}

void StepWatch::begin_op(Call& call, const OpTraits& traits,
                         std::span<const StepRecorder::Argument> arguments) {
  if (follower_.asks_for_inputs()) {
    std::vector<StorageRecord*> inputs;
    for (const StepRecorder::Argument& argument : arguments) inputs.push_back(argument.record);
    follower_.note_inputs(inputs);
  }
  if (recorder_ == nullptr) return;
  const std::uint32_t flags = (traits.mutates ? kOpInPlace : 0u) | (traits.random ? kOpRandom : 0u) |
                              (traits.unrepeatable || traits.unrepeatable_kernel ? kOpNondeterministic : 0u);
  note_evicted_dead();
  call.recorder = recorder_.get();
  call.op = recorder_->begin_op(traits.name, call.shape, flags, arguments);
}

// Only the outermost: inside it is no op whose time counts.
void StepWatch::begin_aside() noexcept {
  if (asides_++ == 0 && times_ != nullptr) aside_ = times_->start();
}

void StepWatch::end_aside() noexcept {
  if (--asides_ == 0 && times_ != nullptr) times_->stop_aside(std::exchange(aside_, {}));
}

void StepWatch::note_evicted_dead() {
  if (residency_.any_away()) residency_.bury_all_dead();
  const std::uint64_t died = residency_.counts().died_total;
  if (died > died_) meter.note_death(died - died_);
  died_ = died;
}

void StepWatch::end_op(const Call& call, std::uint64_t costs_ns, TimeSource source,
                       std::span<StorageRecord* const> made) {
  for (const StorageRecord* const record : made) follower_.made(*record);
  if (recorder_ == nullptr) return;
  if (call.recorder == recorder_.get()) {
    recorder_->end_op(call.op, costs_ns, source, made);
  } else {
    recorder_->fail();  // it began in another iteration
  }
}

void StepWatch::fail_op(const Call& call) {
  if (call.recorder == nullptr || call.recorder != recorder_.get()) return;
  stop_timing(call);
  recorder_->end_op(call.op, 0, TimeSource::kNone, {});
}

std::optional<Result<StepLog>> StepWatch::take_log() {
  std::optional<Result<StepLog>> taken = std::move(log_);
  log_.reset();
  return taken;
}

// The log that is handed out begins with everything there; those before it are for their times alone, and go
// on as they are: what is brought back and then written over can be evicted no more.
void StepWatch::end_iteration() {
  if (recorder_ != nullptr) finish_log();
  const StepTimes* const next = wanted_ != nullptr ? wanted_.get() : times_.get();
  const bool hands_out = next != nullptr && next->to_come() == 1;
  if (follower_.follows()) residency_.offloader().finish_all();
  if (!hands_out && !follower_.follows()) return;
  try {
    const Deeper may_fail(this_thread().may_fail);
    follower_.follows() ? residency_.restore_evicted() : residency_.restore_all();
  } catch (const c10::Error&) {  // it stays away and comes back on demand
  }
}

std::uint32_t StepWatch::record_next(std::unique_ptr<OpTimer> timer) {
  recorder_.reset();
  times_.reset();
  log_.reset();
  wanted_ = std::make_unique<StepTimes>(std::move(timer));
  return wanted_->iterations();
}

// A log that is no good ends the recording; the caller records again.
void StepWatch::finish_log() {
  Result<StepLog> log = recorder_->finish();
  recorder_.reset();
  if (log) log->replayed = std::exchange(replayed_, {});
  if (log) times_->end_iteration(*log);
  if (log && times_->to_come() > 0) return;
  if (log) even_out_host_times(*log);
  if (log) times_->put_into(*log);
  times_.reset();
  log_.emplace(std::move(log));
}

void StepWatch::stop() {
  residency_.set_aside(nullptr);
  recorder_.reset();
  times_.reset();
  wanted_.reset();
  log_.reset();
  follower_.leave();
}

void StepWatch::begin_iteration() {
  if (wanted_ != nullptr) times_ = std::move(wanted_);
  residency_.set_aside(times_ != nullptr ? this : nullptr);
  if (times_ != nullptr) {
    times_->begin_iteration();
    died_ = residency_.counts().died_total;
    recorder_ = std::make_unique<StepRecorder>(
        meter, residency_.counts().evicted_bytes + residency_.counts().offloaded_bytes,
        residency_.offloader(), book_.last_serial());
    replayed_.clear();
  }
  residency_.log_replays(recorder_ != nullptr ? &replayed_ : nullptr);
  follower_.next_iteration();
}

}  // namespace stowage::recompute
