// Keeps what rescue does out of the sessions' recordings: a tensor that it evicts and brings back is one that
// stayed.
//
// Thread safety: called under the runtime's lock.
#pragma once

#include "recompute/away/rescue_watch.h"

namespace stowage::plugin {

class RescueRecording final : public recompute::RescueListener {
 public:
  void leaves(const void* address, std::uint64_t id) noexcept override;
  void begin_return() noexcept override;
  void end_return() noexcept override;
  void is_back(const void* address, std::uint64_t id) noexcept override;
  void is_gone(std::uint64_t id) noexcept override;
};

}  // namespace stowage::plugin
