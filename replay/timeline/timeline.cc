#include "replay/timeline/timeline.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "replay/timeline/events.h"
#include "replay/timeline/rows.h"
#include "replay/timeline/tick_times.h"

namespace stowage::replay {
namespace {

const char* category_of(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kKernel:
      return "kernel";
    case ActivityKind::kCopy:
      return "gpu_memcpy";
    case ActivityKind::kFill:
      return "gpu_memset";
    case ActivityKind::kCall:
      return "cuda_runtime";
    case ActivityKind::kWait:
      return "cuda_sync";
    case ActivityKind::kMemory:
      return "memory_operation";
    case ActivityKind::kOverhead:
      return "overhead";
  }
  return "other";
}

class Timeline {
 public:
  Timeline(const Trace& trace, std::ostream& out) : trace_(trace), times_(trace), rows_(trace), events_(out) {
    for (const std::string& name : trace.names) names_.push_back(plain_name(name));
  }

  void write() {
    rows_.write_names(events_);
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) add_op(i);
    for (const Activity& activity : trace_.activities) add_activity(activity);
    add_arrows();
    add_live_bytes();
    add_iterations();
    add_phases();
  }

 private:
  void add_op(std::size_t index) {
    const Op& op = trace_.ops[index];
    if (op.end_ns == 0) return;
    Json event = slice("cpu_op", trace_.names[op.name], Rows::of(op), op.begin_ns, op.end_ns - op.begin_ns);
    Json& args = event["args"];
    args["External id"] = index;
    args["time ns"] = op.duration_ns;
    args["timed by"] = to_string(op.timed_by);
    if (op.workspace != Bytes(0)) args["workspace bytes"] = op.workspace.value();
    if (!trace_.on_device.empty()) {
      const OpOnDevice& device = trace_.on_device[index];
      args["kernels"] = device.launches;
      args["copy ns"] = device.copy_ns;
      args["overlap ns"] = device.overlap_ns;
      args["wait ns"] = device.wait_ns;
    }
    events_.add(event);
  }

  void add_activity(const Activity& activity) {
    Json event = slice(category_of(activity.kind), names_[activity.name], rows_.of(activity),
                       activity.begin_ns, activity.duration_ns);
    Json& args = event["args"];
    if (activity.op != kNoOp) args["External id"] = activity.op.value();
    if (activity.correlation != 0) args["correlation"] = activity.correlation;
    if (on_stream(activity)) {
      args["device"] = trace_.info.device.index;
      args["stream"] = activity.stream;
      args["duration ns"] = activity.duration_ns;
    }
    if (activity.bytes != 0) args["bytes"] = activity.bytes;
    events_.add(event);
  }

  // From each call to the work that it launched, by correlation.
  void add_arrows() {
    std::map<std::uint32_t, const Activity*> calls;
    for (const Activity& activity : trace_.activities)
      if (activity.kind == ActivityKind::kCall) calls[activity.correlation] = &activity;
    for (const Activity& work : trace_.activities) {
      if (!on_stream(work)) continue;
      const auto call = calls.find(work.correlation);
      if (call == calls.end()) continue;
      events_.arrow("s", work.correlation, rows_.of(*call->second), call->second->begin_ns);
      events_.arrow("f", work.correlation, rows_.of(work), work.begin_ns);
    }
  }

  void add_live_bytes() {
    std::vector<std::pair<Tick, std::int64_t>> changes;
    for (const Buffer& buffer : trace_.buffers) {
      const auto bytes = static_cast<std::int64_t>(buffer.rounded.value());
      changes.emplace_back(buffer.birth, bytes);
      if (buffer.death != kNever) changes.emplace_back(buffer.death, -bytes);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t live = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      live += changes[i].second;
      if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
      events_.add({{"ph", "C"},
                   {"name", "live bytes"},
                   {"pid", Rows::kPhases.process},
                   {"tid", Rows::kPhases.thread},
                   {"ts", micros(times_.ns(changes[i].first))},
                   {"args", {{"bytes", live}}}});
    }
  }

  // Between two marks; whether it is one of those that the plan was made from.
  void add_iterations() {
    for (std::size_t i = 0; i + 1 < trace_.marks.size(); ++i) {
      const Mark& mark = trace_.marks[i];
      const Mark& next = trace_.marks[i + 1];
      const bool steady =
          trace_.steady && mark.tick >= trace_.steady->begin && mark.tick < trace_.steady->end;
      events_.add(
          slice("iteration", std::string(steady ? "steady iteration " : "iteration ") + std::to_string(i + 1),
                Rows::kIterations, times_.ns(mark.tick), times_.ns(next.tick) - times_.ns(mark.tick)));
    }
  }

  void add_phases() {
    const std::uint64_t end_ns =
        std::max(times_.ns(trace_.end), trace_.phases.empty() ? 0 : trace_.phases.back().begin_ns);
    for (std::size_t i = 0; i < trace_.phases.size(); ++i) {
      const Phase& phase = trace_.phases[i];
      const std::uint64_t until = i + 1 < trace_.phases.size() ? trace_.phases[i + 1].begin_ns : end_ns;
      events_.add(
          slice("phase", trace_.names[phase.name], Rows::kPhases, phase.begin_ns, until - phase.begin_ns));
    }
  }

  const Trace& trace_;
  const TickTimes times_;
  const Rows rows_;
  Events events_;
  std::vector<std::string> names_;  // as Trace::names, demangled
};

Json head_of(const Trace& trace) {
  Json head = {
      {"schemaVersion", 1}, {"displayTimeUnit", "ms"}, {"baseTimeNanoseconds", trace.clock_realtime_ns}};
  head["deviceProperties"] = Json::array({{{"id", trace.info.device.index},
                                           {"name", trace.info.device_name},
                                           {"totalGlobalMem", trace.info.device_memory.value()}}});
  head["torch_version"] = trace.info.torch_version;
  head["losses"] = trace.losses.any();
  return head;
}

}  // namespace

Status write_timeline(const Trace& trace, std::ostream& out) {
  if (TickTimes(trace).empty())
    return Error{ErrorCode::kUnplannable,
                 "the trace holds no times; record it again with this version of Stowage"};
  std::string head = head_of(trace).dump();
  head.pop_back();  // its closing brace
  out << head << ",\"traceEvents\":[";
  Timeline(trace, out).write();
  out << "\n]}\n";
  if (!out.flush()) return Error{ErrorCode::kIo, "the timeline could not be written completely"};
  return {};
}

}  // namespace stowage::replay
