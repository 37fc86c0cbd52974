#include "simulator/stand_ins/cupti/clock.h"

#include <time.h>

#include <algorithm>

namespace stowage::simulator {

void ActivityClock::begin(VirtualNs host) {
  timespec real{};
  clock_gettime(CLOCK_REALTIME, &real);
  std::int64_t none = 0;
  base_.compare_exchange_strong(none, std::int64_t{real.tv_sec} * 1'000'000'000 + real.tv_nsec - host);
}

std::uint64_t ActivityClock::now(VirtualNs host) {
  if (const CUpti_TimestampCallbackFunc client = client_.load()) return client();
  return static_cast<std::uint64_t>(base_.load() + host);
}

void ActivityClock::anchor(VirtualNs host, std::uint64_t stamp) {
  if (client_.load() == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (!anchors_.empty() && (host <= anchors_.back().host || stamp < anchors_.back().stamp)) return;
  if (anchors_.size() == kMostAnchors) anchors_.pop_front();
  anchors_.push_back({host, stamp});
}

std::uint64_t ActivityClock::at(VirtualNs moment) {
  if (client_.load() == nullptr) return static_cast<std::uint64_t>(base_.load() + moment);
  const std::lock_guard lock(mutex_);
  if (anchors_.empty()) return 1;
  const auto after = std::lower_bound(anchors_.begin(), anchors_.end(), moment,
                                      [](const Anchor& one, VirtualNs wanted) { return one.host < wanted; });
  if (after == anchors_.end()) return anchors_.back().stamp;
  if (after == anchors_.begin()) return after->stamp;
  const Anchor& before = *(after - 1);
  const double share =
      static_cast<double>(moment - before.host) / static_cast<double>(after->host - before.host);
  return before.stamp + static_cast<std::uint64_t>(share * static_cast<double>(after->stamp - before.stamp));
}

}  // namespace stowage::simulator
