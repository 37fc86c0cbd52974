#include "session/recording/learner.h"

#include <algorithm>
#include <utility>

namespace stowage::session {
namespace {

constexpr std::uint64_t kFirstLearning = 16;  // iterations that are recorded after a switch
constexpr std::uint64_t kMaxLearning = 1024;  // and at most after a divergence; each time it doubles
constexpr std::uint64_t kMaxWritten = 64;     // then the recorder is emptied: it is copied at each divergence
constexpr std::uint32_t kTimesSeen = 2;

}  // namespace

void Learner::know_only(std::uint64_t kind) {
  planned_kinds_ = {kind};
  seen_.clear();
}

void Learner::begin() {
  recording_.start(/*device_is_empty=*/false);
  closed_ = false;
  written_ = 0;
  left_ = next_ = kFirstLearning;
  marks_in_iteration_ = diverged_marks_ = 0;
}

// Learns from the iteration before the one that just ended, since only now it is known when the buffers that
// crossed its end died.
std::optional<Trace> Learner::on_iteration(bool missed, bool planning) {
  const bool writing = recording_.is_on();
  const std::uint32_t marks = std::exchange(marks_in_iteration_, 0);
  const std::uint32_t candidate = std::exchange(diverged_marks_, missed && writing ? marks : 0);
  wrote_ = false;
  if (closed_) {
    recording_.stop();
    return std::nullopt;
  }
  if (missed && left_ == 0) {
    left_ = next_ = std::min(2 * next_, kMaxLearning);
    written_ = 0;
    recording_.start(/*device_is_empty=*/false);
    return std::nullopt;
  }
  if (!writing) return std::nullopt;
  wrote_ = true;
  if (candidate == 0 || planning) return std::nullopt;
  return consider(recording_.recorder().snapshot(), candidate, marks);
}

void Learner::rest(bool missed, bool planning) {
  if (!wrote_) return;
  if (left_ > 0) --left_;
  if (left_ == 0 && !missed && !planning) return recording_.stop();
  if (++written_ < kMaxWritten || missed) return;
  recording_.forget();
  written_ = 0;
}

std::optional<Trace> Learner::consider(const Trace& trace, std::uint32_t marks, std::uint32_t marks_after) {
  const std::size_t needed = std::size_t{marks} + marks_after + 1;
  // Also needs the iteration before it, which passes buffers on; in a steady job that one is the same.
  if (trace.marks.size() < needed + (trace.steady ? 0 : 1)) return std::nullopt;
  const Tick begin = trace.marks[trace.marks.size() - needed].tick;
  const Tick end = trace.marks[trace.marks.size() - needed + marks].tick;
  const Window window{begin, end, fingerprint(trace, begin, end)};
  const std::uint64_t kind = kind_of_iteration(trace, window);
  if (planned_kinds_.contains(kind) || ++seen_[kind] < kTimesSeen) return std::nullopt;
  offered_ = kind;
  return repeat_window(trace, window);
}

}  // namespace stowage::session
