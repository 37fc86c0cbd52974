#include "session/recording/recording.h"

#include <algorithm>
#include <utility>

#include "session/plans/windows.h"

namespace stowage::session {
namespace {

// Of one recording. A job that repeats itself only now and then, and briefly, is planned without ops after
// that.
constexpr std::uint64_t kMaxMarksWithOps = 32;
// Marks for which ops are still recorded after the job stops repeating itself: an occasional evaluation must
// not keep it from its plan.
constexpr std::uint64_t kUnlikeMarksWithOps = 4;
// Iterations in a row, none of a new kind, after which a job without a period is planned, too.
constexpr std::size_t kComeAgain = 8;
// Iterations in a row, no two of them alike, after which a job is thought never to repeat itself.
constexpr std::size_t kAllDiffer = 16;

}  // namespace

// A fresh recorder: a paused one would consider buffers alive that were freed meanwhile.
void Recording::start(bool device_is_empty) {
  stop();
  tracer::RecorderOptions options;
  options.max_period_marks = kMaxPeriodMarks;
  options.max_events = settings_.record_events;
  // Only a device's allocator is modelled on a trace.
  options.from_first_allocation =
      recorders_.empty() && device_is_empty && info_.device.kind == DeviceKind::kCuda;
  begins_with_job_ = recorders_.empty() && device_is_empty;
  if (!recorders_.empty()) recorder().clear();
  recorders_.push_back(std::make_shared<tracer::Recorder>(info_, options));
  marks_ = 0;
  all_marks_with_ops_ = 0;
  hot_.store(&recorder(), std::memory_order_release);
}

void Recording::stop() {
  stop_ops();
  hot_.store(nullptr, std::memory_order_release);
}

void Recording::stop_ops() {
  if (std::exchange(ops_observed_, false)) torch_.unobserve_ops(info_.device);
}

void Recording::forget() {
  recorder().clear();
  marks_ = 0;
}

bool Recording::on_mark(MarkSource source) {
  if (!recorder().on_mark(source)) return false;
  ++marks_;
  return true;
}

Recording::Verdict Recording::judge(bool ops_wanted) {
  if (has_ops(ops_wanted && settings_.record_ops)) return Verdict::kSteady;
  if (ops_observed_) return Verdict::kGoOn;
  if (marks_ >= settings_.record_iterations) return Verdict::kHopeless;
  return recorder().all_differ(kAllDiffer) ? Verdict::kVaries : Verdict::kGoOn;
}

bool Recording::is_settled() const {
  return recorder().period_marks() != 0 || recorder().comes_again(kComeAgain);
}

// True when the steady window is complete: its ops are recorded, or are not wanted.
bool Recording::has_ops(bool wanted) {
  if (ops_observed_) {
    ++marks_with_ops_;
    ++all_marks_with_ops_;
  }
  const std::uint32_t period = window_marks();
  if (!is_settled()) {
    if (++unlike_marks_ >= kUnlikeMarksWithOps) stop_ops();
    return false;
  }
  unlike_marks_ = 0;
  if (!wanted || (ops_observed_ && marks_with_ops_ >= std::uint64_t{period} * iterations_with_ops_))
    return true;
  if (ops_observed_) return false;
  if (all_marks_with_ops_ >= kMaxMarksWithOps) return true;
  ops_observed_ = true;
  marks_with_ops_ = 0;
  iterations_with_ops_ = torch_.observe_ops(recorders_.back(), info_.device, port_);
  return false;
}

Trace Recording::finish() {
  if (std::exchange(ops_observed_, false)) torch_.finish_ops(recorder(), info_.device);
  return recorder().snapshot(tracer::Extent::kAll);
}

std::uint32_t Recording::window_marks() const { return std::max(1u, recorder().period_marks()); }

}  // namespace stowage::session
