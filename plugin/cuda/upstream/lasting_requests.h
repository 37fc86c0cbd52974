// What the calling thread allocates is known to last.
//
// Thread safety: each thread has its own.
#pragma once

namespace stowage::plugin {

/// While one exists, the thread's requests are for what lasts: they lie apart from all others.
class LastingRequests {
 public:
  LastingRequests() { ++depth(); }
  LastingRequests(const LastingRequests&) = delete;
  LastingRequests& operator=(const LastingRequests&) = delete;
  ~LastingRequests() { --depth(); }
  static int& depth() noexcept {
    thread_local int depth = 0;
    return depth;
  }
};

}  // namespace stowage::plugin
