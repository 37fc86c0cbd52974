// One call of the CUDA API, for profilers: from its construction to its destruction, on one thread.
//
// A call inside another one (cuMemFree, which cudaFree does here) is part of it and is not told. Thread
// safety: one thread. Declare it before the Call that takes the machine's lock, so that it ends after that.
#pragma once

#include <cstdint>

#include "simulator/device/activity/activity.h"

namespace stowage::simulator {

class ApiScope {
 public:
  /// `name`: static text.
  ApiScope(ApiDomain domain, std::uint32_t id, const char* name) {
    if (activity_sink() != nullptr) [[unlikely]]
      begin(domain, id, name);
  }
  ~ApiScope() {
    if (sink_ != nullptr) [[unlikely]]
      end();
  }
  ApiScope(const ApiScope&) = delete;
  ApiScope& operator=(const ApiScope&) = delete;

 private:
  void begin(ApiDomain domain, std::uint32_t id, const char* name);
  void end();

  ActivitySink* sink_ = nullptr;
  VirtualNs begin_ = 0;
};

}  // namespace stowage::simulator
