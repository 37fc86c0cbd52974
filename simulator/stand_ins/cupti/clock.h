// CUPTI's clock: virtual nanoseconds since a moment of CLOCK_REALTIME, or whatever a client puts in its
// place.
//
// A client's clock (PyTorch's profiler gives one that counts the processor's ticks) is read at each API call;
// work of the device is placed between these readings by its virtual time, as the real library interpolates
// it. So what a client compares with readings of its own clock lies where it should.
// Thread safety: every member, from any thread. The client's function is called with no lock held.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "simulator/device/time/timeline.h"

namespace stowage::simulator {

class ActivityClock {
 public:
  /// Begins at `host`, virtual time now; further calls do nothing.
  void begin(VirtualNs host);
  void use(CUpti_TimestampCallbackFunc client) { client_.store(client); }
  /// Now, where the host's virtual clock says `host`.
  std::uint64_t now(VirtualNs host);
  /// Notes that `now(host)` was `stamp`.
  void anchor(VirtualNs host, std::uint64_t stamp);
  /// The stamp of another virtual moment.
  std::uint64_t at(VirtualNs moment);

 private:
  struct Anchor {
    VirtualNs host;
    std::uint64_t stamp;
  };
  static constexpr std::size_t kMostAnchors = std::size_t{1} << 20;

  std::atomic<CUpti_TimestampCallbackFunc> client_{nullptr};
  std::atomic<std::int64_t> base_{0};  ///< CLOCK_REALTIME minus virtual time; 0: not begun
  std::mutex mutex_;
  std::deque<Anchor> anchors_;  ///< in order
};

}  // namespace stowage::simulator
