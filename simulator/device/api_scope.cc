#include "simulator/device/api_scope.h"

#include <mutex>
#include <utility>

#include "simulator/device/machine.h"

namespace stowage::simulator {
namespace {

VirtualNs host_now() {
  Machine& machine = Machine::get();
  const std::lock_guard<std::mutex> guard(machine.lock);
  return machine.timeline.host_ns();
}

}  // namespace

void ApiScope::begin(ApiDomain domain, std::uint32_t id, const char* name) {
  if (*current_call().name != '\0') return;
  sink_ = activity_sink();
  if (sink_ == nullptr) return;
  begin_ = host_now();
  current_call() = {domain, id, name};
  sink_->begin_call(current_call());
}

void ApiScope::end() {
  const ApiCall call = std::exchange(current_call(), ApiCall());
  sink_->end_call(call, begin_, host_now());
}

}  // namespace stowage::simulator
