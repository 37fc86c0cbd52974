#include "session/budget/peak_watch.h"

#include <algorithm>

namespace stowage::session {
namespace {

constexpr std::uint64_t kLargeShare = 2;  // a swing falls by at least 1/this of the largest fall
constexpr std::uint64_t kDriftShare = 8;  // low points differ by at most 1/this of the largest fall

}  // namespace

bool PeakWatch::on_alloc(Bytes live) {
  const std::lock_guard lock(mutex_);
  ++allocations_;
  if (allocations_ - swing_began_ > options_.longest_swing) begin_anew(live.value());
  falls_ ? note_rise(live.value()) : note_fall(live.value());
  return allocations_ >= options_.least_allocations && swings_ >= options_.swings;
}

void PeakWatch::begin_anew(std::uint64_t live) {
  swing_began_ = allocations_;
  swings_ = largest_ = 0;
  top_ = last_valley_ = live;
  falls_ = false;
}

void PeakWatch::note_fall(std::uint64_t live) {
  top_ = std::max(top_, live);
  const std::uint64_t fall = top_ - live;
  if (fall == 0 || fall < largest_ / kLargeShare) return;
  falls_ = true;
  valley_ = live;
}

// Swings before a fall more than twice as large were ripples.
void PeakWatch::note_rise(std::uint64_t live) {
  valley_ = std::min(valley_, live);
  const std::uint64_t fall = top_ - valley_;
  if (fall / kLargeShare > largest_) swings_ = 0;
  largest_ = std::max(largest_, fall);
  if (live == valley_ || live - valley_ < largest_ / kLargeShare) return;
  const std::uint64_t drift = std::max(valley_, last_valley_) - std::min(valley_, last_valley_);
  swings_ = drift <= largest_ / kDriftShare ? swings_ + 1 : 0;
  last_valley_ = valley_;
  top_ = live;
  falls_ = false;
  swing_began_ = allocations_;
}

}  // namespace stowage::session
