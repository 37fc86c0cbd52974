#include "session/recording/learner.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace stowage::session {
namespace {

constexpr std::uint64_t kLeastLearning = 64;  // iterations without a miss that are recorded
constexpr std::uint64_t kMostLearning = 4096;
constexpr std::uint64_t kMaxWritten = 64;  // then the recorder is emptied: it is copied for each plan
constexpr std::size_t kMaxSeen = 4096;     // fingerprints; a job that never repeats itself makes ever more
constexpr std::uint32_t kTimesSeen = 2;

}  // namespace

void Learner::begin(bool goes_on) {
  if (!goes_on || !recording_.is_on()) recording_.start(/*device_is_empty=*/false);
  recording_.stop_ops();
  closed_ = evicted_ = false;
  iteration_ = last_missed_ = unplanned_ = written_ = 0;
  left_ = kLeastLearning;
  seen_.clear();
}

bool Learner::on_iteration(bool missed, const std::function<bool(std::uint64_t)>& planned, bool evicted) {
  const bool evicted_before = std::exchange(evicted_, evicted);
  ++iteration_;
  if (closed_) {
    recording_.stop();
    return false;
  }
  const std::uint64_t since = iteration_ - last_missed_;
  if (missed) {
    last_missed_ = iteration_;
    left_ = std::clamp(2 * since, kLeastLearning, kMostLearning);  // what comes rarely will come again
  }
  if (!recording_.is_on()) {
    if (!missed) return false;
    written_ = 0;
    recording_.start(/*device_is_empty=*/false);
    return false;
  }
  // Only now it is known when what crossed its end died.
  const std::optional<std::uint64_t> before = recording_.recorder().fingerprint_of_window(1);
  if (!before || planned(*before)) return false;
  unplanned_ = iteration_;
  if (evicted_before) return false;
  if (seen_.size() >= kMaxSeen) seen_.clear();
  const std::uint32_t times = ++seen_[*before];
  return times >= kTimesSeen && std::has_single_bit(times);  // seldom again where that came to nothing
}

bool Learner::wants(std::uint64_t fingerprint) const {
  const auto found = seen_.find(fingerprint);
  return found != seen_.end() && found->second >= kTimesSeen;
}

void Learner::rest(bool missed, bool planning) {
  if (!recording_.is_on()) return;
  if (left_ > 0) --left_;
  if (left_ == 0 && !missed && !planning) return recording_.stop();
  if (++written_ < kMaxWritten || missed) return;
  recording_.forget();
  written_ = 0;
}

}  // namespace stowage::session
