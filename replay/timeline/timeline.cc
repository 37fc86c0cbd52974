#include "replay/timeline/timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "replay/timeline/events.h"

namespace stowage::replay {
namespace {

// Processes: a device is its index, as in torch's own traces.
constexpr std::uint32_t kJob = 1'000;
constexpr std::uint32_t kStowage = 1'001;
constexpr std::uint32_t kUnknownThreads = 1'000'000;  // threads that called the API outside of all ops
constexpr std::uint32_t kWaitsOfStream = 1'000'000;
constexpr std::uint32_t kSortDevices = 5'000'000;

bool on_stream(ActivityKind kind) {
  return kind == ActivityKind::kKernel || kind == ActivityKind::kCopy || kind == ActivityKind::kFill;
}

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
  Timeline(const Trace& trace, std::ostream& out) : trace_(trace), times_(trace), events_(out) {
    for (const std::string& name : trace.names) names_.push_back(plain_name(name));
  }

  void write() {
    name_rows();
    find_threads();
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) add_op(i);
    for (const Activity& activity : trace_.activities) add_activity(activity);
    add_arrows();
    add_live_bytes();
    add_iterations();
    add_phases();
  }

 private:
  [[nodiscard]] std::uint32_t device() const { return trace_.info.device.index; }

  void name_rows() {
    events_.name("process_name", {kJob, 0}, trace_.info.job.empty() ? "job" : trace_.info.job);
    std::set<std::uint32_t> threads;
    for (const Op& op : trace_.ops) threads.insert(op.thread);
    for (const std::uint32_t thread : threads)
      events_.name("thread_name", {kJob, thread}, "thread " + std::to_string(thread));
    events_.name("process_name", {kStowage, 0}, "Stowage");
    events_.name("thread_name", {kStowage, 0}, "phases");
    events_.name("thread_name", {kStowage, 1}, "iterations");
    if (trace_.activities.empty()) return;
    events_.name("process_name", {device(), 0}, "GPU " + std::to_string(trace_.info.device.index));
    events_.sort(device(), kSortDevices + trace_.info.device.index);
    std::set<std::uint32_t> streams;
    for (const Activity& activity : trace_.activities)
      if (on_stream(activity.kind)) streams.insert(activity.stream);
    for (const std::uint32_t stream : streams)
      events_.name("thread_name", {device(), stream}, "stream " + std::to_string(stream));
  }

  // CUPTI numbers threads in its own way: a thread is the one whose ops made its calls.
  void find_threads() {
    for (const Activity& activity : trace_.activities)
      if (activity.kind == ActivityKind::kCall && activity.op != kNoOp)
        thread_of_.emplace(activity.thread, trace_.ops[activity.op.value()].thread);
  }

  [[nodiscard]] std::uint32_t thread_of(std::uint32_t number) const {
    const auto found = thread_of_.find(number);
    return found != thread_of_.end() ? found->second : kUnknownThreads + number % kUnknownThreads;
  }

  void add_op(std::size_t index) {
    const Op& op = trace_.ops[index];
    if (op.end_ns == 0) return;
    Json event =
        slice("cpu_op", trace_.names[op.name], {kJob, op.thread}, op.begin_ns, op.end_ns - op.begin_ns);
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
    const bool host = activity.kind == ActivityKind::kCall;
    std::uint32_t row = host ? thread_of(activity.thread) : activity.stream;
    if (activity.kind == ActivityKind::kWait) row = kWaitsOfStream + activity.stream % kWaitsOfStream;
    Json event = slice(category_of(activity.kind), names_[activity.name], {host ? kJob : device(), row},
                       activity.begin_ns, activity.duration_ns);
    Json& args = event["args"];
    if (activity.op != kNoOp) args["External id"] = activity.op.value();
    if (activity.correlation != 0) args["correlation"] = activity.correlation;
    if (on_stream(activity.kind)) {
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
      if (!on_stream(work.kind)) continue;
      const auto call = calls.find(work.correlation);
      if (call == calls.end()) continue;
      events_.arrow("s", work.correlation, {kJob, thread_of(call->second->thread)}, call->second->begin_ns);
      events_.arrow("f", work.correlation, {device(), work.stream}, work.begin_ns);
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
                   {"pid", kStowage},
                   {"tid", 0},
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
      events_.add(slice("iteration",
                        std::string(steady ? "steady iteration " : "iteration ") + std::to_string(i + 1),
                        {kStowage, 1}, times_.ns(mark.tick), times_.ns(next.tick) - times_.ns(mark.tick)));
    }
  }

  void add_phases() {
    const std::uint64_t end_ns =
        std::max(times_.ns(trace_.end), trace_.phases.empty() ? 0 : trace_.phases.back().begin_ns);
    for (std::size_t i = 0; i < trace_.phases.size(); ++i) {
      const Phase& phase = trace_.phases[i];
      const std::uint64_t until = i + 1 < trace_.phases.size() ? trace_.phases[i + 1].begin_ns : end_ns;
      events_.add(
          slice("phase", trace_.names[phase.name], {kStowage, 0}, phase.begin_ns, until - phase.begin_ns));
    }
  }

  const Trace& trace_;
  const TickTimes times_;
  Events events_;
  std::vector<std::string> names_;                    // as Trace::names, demangled
  std::map<std::uint32_t, std::uint32_t> thread_of_;  // CUPTI's thread number -> the trace's
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

TickTimes::TickTimes(const Trace& trace) {
  for (const Op& op : trace.ops) {
    if (op.end_ns == 0) continue;
    anchors_.push_back({op.begin, op.begin_ns});
    if (op.end != kNever) anchors_.push_back({op.end, op.end_ns});
  }
  for (const Mark& mark : trace.marks)
    if (mark.at_ns != 0) anchors_.push_back({mark.tick, mark.at_ns});
  std::sort(anchors_.begin(), anchors_.end(),
            [](const Anchor& a, const Anchor& b) { return a.tick < b.tick; });
  for (std::size_t i = 1; i < anchors_.size(); ++i)  // a thread may be late to take its tick
    anchors_[i].ns = std::max(anchors_[i].ns, anchors_[i - 1].ns);
}

std::uint64_t TickTimes::ns(Tick tick) const {
  if (anchors_.empty()) return 0;
  const auto after = std::lower_bound(anchors_.begin(), anchors_.end(), tick,
                                      [](const Anchor& anchor, Tick at) { return anchor.tick < at; });
  if (after == anchors_.end()) return anchors_.back().ns;
  if (after == anchors_.begin() || after->tick == tick) return after->ns;
  const Anchor& before = *(after - 1);
  const auto ticks = static_cast<double>(after->tick.value() - before.tick.value());
  const double share = static_cast<double>(tick.value() - before.tick.value()) / ticks;
  return before.ns + static_cast<std::uint64_t>(share * static_cast<double>(after->ns - before.ns));
}

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
