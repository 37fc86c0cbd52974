// The clock of a device (tracer/clocks) as what times the ops of logged iterations (recompute/schedule).
//
// Thread safety: as OpTimer.
#pragma once

#include <memory>
#include <vector>

#include "recompute/schedule/op_timer.h"
#include "session/ports/device_port.h"
#include "tracer/clocks/op_clock.h"

namespace stowage::plugin {

class StepTimer final : public recompute::OpTimer {
 public:
  /// `port` says whether the device may be waited for, and outlives the timer. Requires: `clock` is set.
  StepTimer(std::shared_ptr<tracer::OpClock> clock, session::DevicePort& port)
      : clock_(std::move(clock)), port_(port) {}

  [[nodiscard]] std::uint32_t iterations() const override { return clock_->iterations(); }
  recompute::TimedOp start() noexcept override;
  void stop(const recompute::TimedOp& started, std::uint32_t op) noexcept override;
  std::vector<Time> read() noexcept override;

 private:
  const std::shared_ptr<tracer::OpClock> clock_;
  session::DevicePort& port_;
};

}  // namespace stowage::plugin
