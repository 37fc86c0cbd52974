#include "session/ports/observers.h"

#include <atomic>
#include <utility>

namespace stowage::plugin {
namespace {

std::atomic<const OpObserving*> current{nullptr};

}  // namespace

void set_op_observing(const OpObserving* observing) { current.store(observing, std::memory_order_release); }

void prepare_observing() {
  const OpObserving* now = current.load(std::memory_order_acquire);
  if (now != nullptr && now->prepare != nullptr) now->prepare();
}

void observe_ops(std::shared_ptr<tracer::Recorder> recorder, const TraceInfo& device) {
  const OpObserving* now = current.load(std::memory_order_acquire);
  if (now != nullptr && now->begin != nullptr) now->begin(std::move(recorder), device);
}

void unobserve_ops(const TraceInfo& device) {
  const OpObserving* now = current.load(std::memory_order_acquire);
  if (now != nullptr && now->end != nullptr) now->end(device);
}

void complete_ops(tracer::Recorder& recorder, const TraceInfo& device) {
  const OpObserving* now = current.load(std::memory_order_acquire);
  if (now != nullptr && now->complete != nullptr) now->complete(recorder, device);
}

}  // namespace stowage::plugin
