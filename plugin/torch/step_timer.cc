#include "plugin/torch/step_timer.h"

#include <exception>
#include <string>

#include "session/settings/notice.h"

namespace stowage::plugin {

recompute::TimedOp StepTimer::start() noexcept try {
  const tracer::StartedOp started = clock_->start();
  return {started.event, started.id, started.parent};
} catch (const std::exception&) {  // an op without a time keeps its modelled one
  return {};
}

void StepTimer::stop(const recompute::TimedOp& started, std::uint32_t op) noexcept try {
  clock_->stop({started.event, started.id, started.parent}, OpId(op));
} catch (const std::exception&) {
}

std::vector<recompute::OpTimer::Time> StepTimer::read() noexcept try {
  const tracer::ClockReading reading = clock_->read(port_.may_wait());
  if (reading.losses.any()) session::note(1, "CUPTI lost records: some op times are too low");
  std::vector<Time> times;
  times.reserve(reading.ops.size());
  for (const tracer::OpTimes& op : reading.ops) times.push_back({op.op.value(), op.duration_ns, op.source});
  return times;
} catch (const std::exception& error) {
  session::note(1, std::string("op times are modelled: ") + error.what());
  return {};
}

}  // namespace stowage::plugin
