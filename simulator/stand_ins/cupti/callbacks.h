// CUPTI's callbacks: one subscriber is told of each call that it asked for, before and after.
//
// As in the real library, a function's arguments are not told unless it is known by its number; here they
// never are. Thread safety: every member, from any thread. The subscriber is called with no lock held.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "simulator/device/activity/activity.h"

namespace stowage::simulator {

/// What CUPTI calls the function, with its version ("cudaMalloc_v3020"), or null if it has no such number.
const char* function_name(ApiDomain domain, std::uint32_t id);

class Callbacks {
 public:
  /// False if somebody else has subscribed.
  bool subscribe(CUpti_CallbackFunc function, void* user);
  void unsubscribe();
  void enable(ApiDomain domain, std::uint32_t id, bool enabled);
  void enable(ApiDomain domain, bool enabled);
  /// Somebody wants to be told of some call.
  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
  void tell(const ApiCall& call, CUpti_ApiCallbackSite site);

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  bool subscribed_ = false;
  CUpti_CallbackFunc function_ = nullptr;
  void* user_ = nullptr;
  std::set<std::pair<ApiDomain, std::uint32_t>> wanted_;
};

}  // namespace stowage::simulator
