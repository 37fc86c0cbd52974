#include "tracer/observers/op_observer.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/support/clock.h"
#include "core/support/fork.h"
#include "tracer/observers/op_arguments.h"
#include "tracer/observers/op_info.h"

namespace stowage::tracer {
namespace {

using Routes = std::vector<std::pair<c10::Device, std::shared_ptr<const OpRoute>>>;

struct Registration {
  std::mutex mutex;
  Routes routes;
  at::CallbackHandle ops = at::INVALID_CALLBACK_HANDLE;
  at::CallbackHandle nodes = at::INVALID_CALLBACK_HANDLE;

  std::shared_ptr<const OpRoute> find(c10::Device device) {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [known, route] : routes) {
      if (known == device) return route;
    }
    return nullptr;
  }
};

// A forked child records nothing: the recorders stay with its parent.
void leave_to_parent(void* subject) {
  auto& mine = *static_cast<Registration*>(subject);
  new Routes(std::move(mine.routes));  // not destroyed: a thread that is not here may have been in a recorder
  mine.routes.clear();
  mine.mutex.unlock();
}

Registration& registration() {
  static auto* const instance = [] {
    auto* const made = new Registration;  // outlives threads that run ops during exit
    handle_forks(ForkRank::kLeaf, {[](void* one) { static_cast<Registration*>(one)->mutex.lock(); },
                                   [](void* one) { static_cast<Registration*>(one)->mutex.unlock(); },
                                   &leave_to_parent, made});
    return made;
  }();
  return *instance;
}

// One op from begin to end.
struct OpContext : at::ObserverContext {
  std::shared_ptr<const OpRoute> route;
  const OpInfo* info = nullptr;
  OpContext* parent = nullptr;
  OpId id = kNoOp;
  StartedOp started;  // by the route's clock
  std::uint64_t begin_ns = 0;
  bool calls_ops = false;
  Arguments arguments;
};

thread_local OpContext* innermost = nullptr;
thread_local int node_depth = 0;

// Index 0 is the default device of its kind: an op names "cuda" where it means the current one.
c10::Device with_index(c10::Device device) {
  return device.is_cpu() ? c10::Device(c10::kCPU)
                         : c10::Device(device.type(), std::max<c10::DeviceIndex>(device.index(), 0));
}

bool is_foreach(const OpContext& context) {
  return std::string_view(context.info->name).substr(0, 14) == "aten::_foreach";
}

void begin_op(OpContext& context) {
  context.parent = innermost;
  if (context.parent != nullptr && context.parent->route == context.route) context.parent->calls_ops = true;
  innermost = &context;
  context.id = context.route->recorder->on_op_begin();
  if (context.route->clock) context.started = context.route->clock->start();
  context.begin_ns = now_ns();
}

std::unique_ptr<at::ObserverContext> on_op_begin(const at::RecordFunction& call) {
  try {
    const OpInfo* const info = op_info_of(call);
    if (info == nullptr) return nullptr;
    auto context = std::make_unique<OpContext>();
    read_arguments(call.inputs(), info->written, context->arguments);
    context->route = registration().find(with_index(context->arguments.device));
    if (!context->route) return nullptr;
    context->info = info;
    begin_op(*context);
    return context;
  } catch (...) {  // a trace without this op is better than a job without its iteration
    return nullptr;
  }
}

bool holds(const Uses& uses, const void* storage) {
  return std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return use.storage == storage; });
}

// What the op returned; and what it wrote to, where it does not return that (foreach and fused optimizers).
Uses results_of(const at::RecordFunction& call, const OpContext& context) {
  Uses results;
  for (const c10::IValue& output : call.outputs()) append_uses(output, context.arguments.device, results);
  for (const auto& weak : context.arguments.written) {
    const auto tensor = weak.lock();
    if (!tensor.defined()) continue;
    Uses written;
    append_use(*tensor, context.arguments.device, written);
    if (!written.empty() && !holds(results, written[0].storage)) results.push_back(written[0]);
  }
  return results;
}

std::uint32_t flags_of(const OpContext& context, const Uses& results) {
  std::uint32_t flags = context.info->flags;
  if (context.calls_ops) flags |= kOpComposite;
  if (node_depth > 0) flags |= kOpBackward;
  const bool shares = std::any_of(results.begin(), results.end(), [&](const auto& result) {
    return holds(context.arguments.uses, result.storage);
  });
  if (shares && context.info->written == 0) flags |= kOpView;
  return flags;
}

void end_op(const at::RecordFunction& call, OpContext& context) {
  if (context.route->clock) context.route->clock->stop(context.started, context.id);
  const Uses results = results_of(call, context);
  OpRecord record;
  record.name = context.info->name;
  record.flags = flags_of(context, results);
  if (context.route->current_stream) record.stream = context.route->current_stream();
  record.begin_ns = context.begin_ns;
  record.end_ns = now_ns();
  record.timed_by_device = context.route->clock != nullptr;
  record.inputs = {context.arguments.uses.data(), context.arguments.uses.size()};
  record.outputs = {results.data(), results.size()};
  context.route->recorder->on_op_end(context.id, record);
}

void on_op_end(const at::RecordFunction& call, at::ObserverContext* base) {
  if (base == nullptr) return;
  auto& context = static_cast<OpContext&>(*base);
  // An op can end on another thread than it began on (asynchronous scopes): then it is not the innermost one
  // here.
  if (innermost == &context) innermost = context.parent;
  try {
    end_op(call, context);
  } catch (...) {  // as in on_op_begin
  }
}

std::unique_ptr<at::ObserverContext> on_node_begin(const at::RecordFunction&) {
  ++node_depth;
  return nullptr;
}

void on_node_end(const at::RecordFunction&, at::ObserverContext*) { --node_depth; }

// Added once and never removed, since removal must not race with threads that run ops: stopping only disables
// them.
void add_callbacks(Registration& global) {
  global.ops = at::addGlobalCallback(at::RecordFunctionCallback(&on_op_begin, &on_op_end)
                                         .needsInputs(true)
                                         .needsOutputs(true)
                                         .scopes({at::RecordScope::FUNCTION}));
  global.nodes = at::addGlobalCallback(
      at::RecordFunctionCallback(&on_node_begin, &on_node_end).scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

void enable(Registration& global) {
  if (global.ops == at::INVALID_CALLBACK_HANDLE) return add_callbacks(global);
  at::reenableCallback(global.ops);
  at::reenableCallback(global.nodes);
}

void remove_route(Registration& global, c10::Device device) {
  std::erase_if(global.routes, [&](const auto& entry) { return entry.first == device; });
}

}  // namespace

void start_observing_ops(c10::Device device, OpRoute route) {
  Registration& global = registration();
  const std::lock_guard<std::mutex> lock(global.mutex);
  remove_route(global, with_index(device));
  global.routes.emplace_back(with_index(device), std::make_shared<const OpRoute>(std::move(route)));
  if (global.routes.size() == 1) enable(global);
}

void stop_observing_ops(c10::Device device) {
  Registration& global = registration();
  const std::lock_guard<std::mutex> lock(global.mutex);
  remove_route(global, with_index(device));
  if (!global.routes.empty() || global.ops == at::INVALID_CALLBACK_HANDLE) return;
  at::disableCallback(global.ops);
  at::disableCallback(global.nodes);
}

bool in_foreach_op() noexcept {
  for (const OpContext* context = innermost; context != nullptr; context = context->parent) {
    if (is_foreach(*context)) return true;
  }
  return false;
}

void read_clock(OpClock& clock, Recorder& recorder, bool may_wait) {
  ClockReading reading = clock.read(may_wait);
  recorder.set_op_times(reading.ops);
  recorder.set_activities(std::move(reading.activities), std::move(reading.names), reading.losses);
}

}  // namespace stowage::tracer
