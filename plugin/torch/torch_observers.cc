#include "plugin/torch/torch_observers.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "session/ports/observers.h"
#include "session/registry.h"
#include "session/session.h"
#include "tracer/step_observer.h"

namespace stowage::plugin {
namespace {

struct Routes {
  std::mutex mutex;
  CudaRoute cuda;
  std::map<std::uint32_t, std::shared_ptr<tracer::OpClock>> clocks;  ///< of CUDA devices
  bool steps_observed = false;
};

Routes& routes() {
  static auto* instance = new Routes;
  return *instance;
}

c10::Device device_of(const TraceInfo& info) {
  if (info.device.kind == DeviceKind::kCpu) return c10::Device(c10::kCPU);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(info.device.index));
}

void begin_ops(std::shared_ptr<tracer::Recorder> recorder, const TraceInfo& info) {
  tracer::OpRoute route;
  route.recorder = std::move(recorder);
  if (info.device.kind == DeviceKind::kCuda) {
    const std::lock_guard lock(routes().mutex);
    if (routes().cuda) routes().cuda(info.device.index, route);
    routes().clocks[info.device.index] = route.clock;
  }
  tracer::start_observing_ops(device_of(info), std::move(route));
}

void end_ops(const TraceInfo& info) { tracer::stop_observing_ops(device_of(info)); }

void complete_durations(tracer::Recorder& recorder, const TraceInfo& info) {
  if (info.device.kind != DeviceKind::kCuda) return;
  std::shared_ptr<tracer::OpClock> clock;
  {
    const std::lock_guard lock(routes().mutex);
    clock = routes().clocks[info.device.index];
  }
  if (clock) tracer::resolve_durations(*clock, recorder);
}

// A session joins the process's before it asks for marks, so that none is overlooked here.
void stop_where_nobody_listens() {
  const std::lock_guard lock(routes().mutex);
  const std::vector<Session*> sessions = all_sessions();
  if (std::any_of(sessions.begin(), sessions.end(), [](Session* one) { return one->needs_marks(); })) return;
  routes().steps_observed = false;
  tracer::stop_observing_steps();
}

constexpr OpObserving kTorchOps{&observe_torch, &begin_ops, &end_ops, &complete_durations};
[[maybe_unused]] const bool kRegistered = (set_op_observing(&kTorchOps), true);

}  // namespace

void observe_torch() {
  const std::lock_guard lock(routes().mutex);
  if (std::exchange(routes().steps_observed, true)) return;
  tracer::StepCallbacks callbacks;
  callbacks.on_begin = [] {
    for (Session* session : all_sessions()) session->on_optimizer_begin();
  };
  callbacks.on_end = [] {
    for (Session* session : all_sessions()) session->on_optimizer_end();
  };
  callbacks.on_mark = [](MarkSource source) {
    for (Session* session : all_sessions()) session->on_mark(source);
    stop_where_nobody_listens();
  };
  tracer::start_observing_steps(std::move(callbacks));
}

void set_cuda_route(CudaRoute complete_route) {
  const std::lock_guard lock(routes().mutex);
  routes().cuda = std::move(complete_route);
}

}  // namespace stowage::plugin
