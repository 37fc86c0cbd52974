#include "plugin/torch/live_torch.h"

#include <c10/core/Device.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "plugin/torch/process_group.h"
#include "plugin/torch/python_calls.h"
#include "plugin/torch/step_timer.h"
#include "recompute/demand.h"
#include "recompute/lasting.h"
#include "recompute/planned.h"
#include "recompute/recompute.h"
#include "session/ports/device_port.h"
#include "session/registry.h"
#include "session/session.h"
#include "tracer/observers/op_observer.h"
#include "tracer/observers/step_observer.h"

namespace stowage::plugin {
namespace {

using recompute::Planned;
using recompute::Runtime;

c10::Device as_torch_says(const Device& device) {
  if (device.kind == DeviceKind::kCpu) return c10::Device(c10::kCPU);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index));
}

int type_of(const Device& device) { return static_cast<int>(as_torch_says(device).type()); }
int index_of(const Device& device) { return static_cast<int>(device.index); }

}  // namespace

LiveTorch::LiveTorch()
    : users_(
          [this] {
            Runtime::listen(&rescue_recording_);
            return Runtime::install(debugging_.options());
          },
          [this] {
            // Nobody reads a tensor any more, and there may be no room for all that was offloaded.
            if (!at_end_.load()) Runtime::uninstall();
          }) {}

LiveTorch& live_torch() {
  static auto* const instance = new LiveTorch;
  return *instance;
}

// ---- ops and optimizer steps

void LiveTorch::watch_steps() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(steps_observed_, true)) return;
  tracer::StepCallbacks callbacks;
  callbacks.on_begin = [] {
    for (session::Session* session : session::all_sessions()) session->on_optimizer_begin();
  };
  callbacks.on_end = [] {
    for (session::Session* session : session::all_sessions()) session->on_optimizer_end();
  };
  callbacks.on_mark = [this](MarkSource source) {
    mark_all(source);
    stop_where_nobody_listens();
  };
  tracer::start_observing_steps(std::move(callbacks));
}

// Without a budget no session reports to the runtime, which then runs only for debugging.
void LiveTorch::mark_all(MarkSource source) {
  const std::uint64_t before = ended_iterations_.load();
  for (session::Session* session : session::all_sessions()) session->on_mark(source);
  if (debugging_.on() && ended_iterations_.load() == before) Runtime::end_iteration();
}

// A session registers itself before it asks for marks, so this check cannot miss one.
void LiveTorch::stop_where_nobody_listens() {
  if (debugging_.on()) return;
  const std::lock_guard lock(mutex_);
  const std::vector<session::Session*> sessions = session::all_sessions();
  if (std::any_of(sessions.begin(), sessions.end(), [](session::Session* one) { return one->needs_marks(); }))
    return;
  steps_observed_ = false;
  tracer::stop_observing_steps();
}

std::uint32_t LiveTorch::observe_ops(std::shared_ptr<tracer::Recorder> recorder, const Device& device,
                                     session::DevicePort& port) {
  tracer::OpRoute route;
  route.recorder = std::move(recorder);
  route.clock = port.make_op_clock();
  route.current_stream = [&port] { return port.current_stream(); };
  const std::shared_ptr<tracer::OpClock> clock = route.clock;
  tracer::start_observing_ops(as_torch_says(device), std::move(route));
  const std::lock_guard lock(mutex_);
  observed_[device] = {clock, &port};
  return clock ? clock->iterations() : 1;
}

void LiveTorch::unobserve_ops(const Device& device) {
  tracer::stop_observing_ops(as_torch_says(device));
  Observed ending{};  // destroyed without the lock: it may wait for CUPTI
  {
    const std::lock_guard lock(mutex_);
    std::swap(ending, observed_[device]);
    observed_.erase(device);
  }
  if (at_end_.load()) new Observed(std::move(ending));
}

void LiveTorch::finish_ops(tracer::Recorder& recorder, const Device& device) {
  Observed ending{};
  {
    const std::lock_guard lock(mutex_);
    ending = observed_[device];
  }
  unobserve_ops(device);
  if (ending.clock) tracer::read_clock(*ending.clock, recorder, ending.port->may_wait());
}

// ---- the runtime that evicts and recomputes

Status LiveTorch::join_rescue(bool on_this_stream) {
  if (Status begun = users_.begin(); !begun) return begun;
  Runtime::watch_until_iteration_ends();
  on_this_stream_.store(on_this_stream);
  users_.tell_present();
  on_this_stream_.store(false);
  return {};
}

void LiveTorch::know(c10::StorageImpl* storage) { Runtime::know(storage, on_this_stream_.load()); }

bool LiveTorch::call_between_ops(std::function<void()> work) { return call_in_python(std::move(work)); }

void LiveTorch::end_iteration() {
  ended_iterations_.fetch_add(1);
  Runtime::end_iteration();
}

void LiveTorch::note_limit(Bytes limit, const Device& device) { Runtime::note_limit(limit, type_of(device)); }

bool LiveTorch::make_room(Bytes bytes, const Device& device) {
  return Runtime::make_room(bytes, type_of(device), index_of(device));
}

bool LiveTorch::recomputes() const { return Runtime::replaying() || Runtime::may_fail(); }

bool LiveTorch::may_fail() const { return Runtime::may_fail(); }

Bytes LiveTorch::gather_lasting(const Device& device) {
  return recompute::gather_lasting(type_of(device), index_of(device));
}

bool LiveTorch::make_contiguous_room(Bytes bytes, const Device& device, const FreeSpace& space) {
  return Runtime::make_contiguous_room(bytes, type_of(device), space);
}

Bytes LiveTorch::evictable(const Device& device) const {
  return Runtime::evictable(type_of(device), index_of(device));
}

std::string LiveTorch::explain(const Shortage& shortage, const Device& device) {
  return Runtime::explain_shortage(shortage, type_of(device), index_of(device));
}

RuntimeCounters LiveTorch::counters() const { return Runtime::counters(); }
std::optional<std::int64_t> LiveTorch::bytes_away() const { return recompute::bytes_away(); }
std::uint64_t LiveTorch::threads_in_iterations() const { return recompute::threads_in_iterations(); }

std::uint32_t LiveTorch::record_next(session::DevicePort* port) {
  std::shared_ptr<tracer::OpClock> clock = port != nullptr ? port->make_op_clock() : nullptr;
  if (!clock) return Planned::record_next();
  return Planned::record_next(std::make_unique<StepTimer>(std::move(clock), *port));
}

std::optional<Result<StepLog>> LiveTorch::take_log() { return Planned::take_log(); }
Status LiveTorch::follow(const Schedule& schedule) { return Planned::follow(schedule); }
void LiveTorch::leave() { Planned::leave(); }
FollowCounters LiveTorch::follow_counters() const { return Planned::counts(); }

std::optional<session::RankGroup> LiveTorch::rank_group() { return default_process_group(); }

}  // namespace stowage::plugin
