#include "tracer/observers/step_observer.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/support/fork.h"
#include "tracer/observers/backward_pass.h"
#include "tracer/observers/step_bursts.h"

namespace stowage::tracer {
namespace {

constexpr std::string_view kStepPrefix = "Optimizer.step#";

struct Registration {
  std::mutex mutex;
  std::shared_ptr<const StepCallbacks> callbacks;  // null when stopped
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
};

Registration& registration() {
  static auto* const instance = [] {
    auto* const made = new Registration;  // outlives threads that step during exit
    hold_over_forks(made->mutex);
    return made;
  }();
  return *instance;
}

thread_local int step_depth = 0;

// Of the calling thread. Autograd numbers the nodes that a thread records.
bool ends_burst() {
  thread_local StepBursts bursts;
  thread_local std::uint64_t nodes = 0;
  const std::uint64_t now = at::sequence_number::peek();
  return bursts.on_step(std::exchange(nodes, now) != now);
}

// One step, from its begin to its end. It ends with the callbacks it began with.
struct StepContext : at::ObserverContext {
  std::shared_ptr<const StepCallbacks> callbacks;
};

template <class Callback, class... Args>
void call(const Callback& callback, Args... args) noexcept {
  try {
    if (callback) callback(args...);
  } catch (...) {  // the job must not see a failure of ours
  }
}

std::unique_ptr<at::ObserverContext> on_scope_begin(const at::RecordFunction& scope) {
  if (!std::string_view(scope.name()).starts_with(kStepPrefix)) return nullptr;
  auto context = std::make_unique<StepContext>();
  if (++step_depth > 1) return context;
  {
    const std::lock_guard<std::mutex> lock(registration().mutex);
    context->callbacks = registration().callbacks;
  }
  if (context->callbacks) call(context->callbacks->on_begin);
  return context;
}

void mark_where_iteration_ends(const std::shared_ptr<const StepCallbacks>& callbacks) {
  const auto mark = [callbacks] { call(callbacks->on_mark, MarkSource::kOptimizer); };
  if (inside_backward()) return once_after_backward(mark);
  if (ends_burst()) mark();
}

void on_scope_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context == nullptr) return;
  --step_depth;
  const auto& callbacks = static_cast<StepContext*>(context)->callbacks;
  if (callbacks == nullptr) return;
  call(callbacks->on_end);
  call(&mark_where_iteration_ends, callbacks);
}

}  // namespace

void start_observing_steps(StepCallbacks callbacks) {
  Registration& global = registration();
  const std::lock_guard<std::mutex> lock(global.mutex);
  global.callbacks = std::make_shared<const StepCallbacks>(std::move(callbacks));
  if (global.handle == at::INVALID_CALLBACK_HANDLE) {
    // Added once and never removed, since removal must not race with threads that run: stopping only disables
    // it.
    global.handle = at::addGlobalCallback(
        at::RecordFunctionCallback(&on_scope_begin, &on_scope_end).scopes({at::RecordScope::USER_SCOPE}));
  } else {
    at::reenableCallback(global.handle);
  }
}

void stop_observing_steps() {
  Registration& global = registration();
  const std::lock_guard<std::mutex> lock(global.mutex);
  global.callbacks = nullptr;
  if (global.handle != at::INVALID_CALLBACK_HANDLE) at::disableCallback(global.handle);
}

}  // namespace stowage::tracer
