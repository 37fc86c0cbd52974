// How a session's recorder gets the ops of a running job, in a form that knows nothing of torch, so that
// sessions are tested without it. torch_observers.cc is what stands behind it in a real process.
//
// Thread safety: any thread.
#pragma once

#include <memory>

#include "core/trace.h"
#include "tracer/recorder.h"

namespace stowage::plugin {

struct OpObserving {
  /// A session is being made: whatever watches the process begins now, if it has not yet.
  void (*prepare)() = nullptr;
  /// From now on `recorder` gets the ops of the device.
  void (*begin)(std::shared_ptr<tracer::Recorder> recorder, const TraceInfo& device) = nullptr;
  /// No more ops of the device are recorded.
  void (*end)(const TraceInfo& device) = nullptr;
  /// Hands over the durations that are known by now. Before a snapshot.
  void (*complete)(tracer::Recorder& recorder, const TraceInfo& device) = nullptr;
};

/// Used by every session from now on. Without it sessions record no ops. Requires: it lives as long as the
/// process.
void set_op_observing(const OpObserving* observing);
void prepare_observing();
void observe_ops(std::shared_ptr<tracer::Recorder> recorder, const TraceInfo& device);
void unobserve_ops(const TraceInfo& device);
void complete_ops(tracer::Recorder& recorder, const TraceInfo& device);

}  // namespace stowage::plugin
