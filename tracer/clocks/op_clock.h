// The clock of one device's ops: host time on a CPU, events on the op's stream on an accelerator.
//
// Thread safety: every member may be called from any thread; start and stop of one op come from the same
// thread.
#pragma once

#include <cstdint>
#include <functional>

#include "core/units.h"

namespace stowage::tracer {

class OpClock {
 public:
  virtual ~OpClock() = default;
  /// The op begins on the calling thread. The result is for stop.
  virtual std::uint64_t start() = 0;
  /// Op `op` ends. Its duration in ns, or 0 when that is known only later: resolve tells it then.
  virtual std::uint64_t stop(std::uint64_t started, OpId op) = 0;
  /// Calls deliver(op, duration in ns) for each op that ended, was not told of yet and whose duration is
  /// known by now.
  virtual void resolve(const std::function<void(OpId, std::uint64_t)>& deliver) = 0;
};

/// Host time: right where an op has done its work when its call returns.
class HostOpClock final : public OpClock {
 public:
  std::uint64_t start() override;
  std::uint64_t stop(std::uint64_t started, OpId op) override;
  void resolve(const std::function<void(OpId, std::uint64_t)>&) override {}
};

}  // namespace stowage::tracer
