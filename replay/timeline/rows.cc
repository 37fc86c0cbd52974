#include "replay/timeline/rows.h"

#include <string>

namespace stowage::replay {
namespace {

constexpr std::uint32_t kCallsOfThread = 1'000'000;
constexpr std::uint32_t kUnknownThreads = 2'000'000;  // threads that called the API outside of all ops
constexpr std::uint32_t kWaitsOfStream = 1'000'000;
constexpr std::uint32_t kSortDevices = 5'000'000;

}  // namespace

Rows::Rows(const Trace& trace) : trace_(trace) {
  for (const Activity& activity : trace.activities)
    if (activity.kind == ActivityKind::kCall && activity.op != kNoOp)
      thread_of_.emplace(activity.thread, trace.ops[activity.op.value()].thread);
}

std::uint32_t Rows::row_of_calls(std::uint32_t thread) const {
  const auto found = thread_of_.find(thread);
  return found != thread_of_.end() ? kCallsOfThread + found->second
                                   : kUnknownThreads + thread % kUnknownThreads;
}

Row Rows::of(const Activity& activity) const {
  if (activity.kind == ActivityKind::kCall) return {kJob, row_of_calls(activity.thread)};
  const std::uint32_t first = activity.kind == ActivityKind::kWait ? kWaitsOfStream : 0;
  return {trace_.info.device.index, first + activity.stream % kWaitsOfStream};
}

void Rows::write_names(Events& events) const {
  name_job(events);
  events.name("process_name", kPhases, "Stowage");
  events.name("thread_name", kPhases, "phases");
  events.name("thread_name", kIterations, "iterations");
  if (!trace_.activities.empty()) name_device(events);
}

void Rows::name_job(Events& events) const {
  events.name("process_name", {kJob, 0}, trace_.info.job.empty() ? "job" : trace_.info.job);
  std::map<std::uint32_t, std::string> names;
  for (const Op& op : trace_.ops) names[op.thread] = "thread " + std::to_string(op.thread);
  for (const Activity& activity : trace_.activities) {
    if (activity.kind != ActivityKind::kCall) continue;
    const std::uint32_t row = row_of_calls(activity.thread);
    names[row] = row < kUnknownThreads ? "thread " + std::to_string(row - kCallsOfThread) + ": CUDA API"
                                       : "CUDA API of thread " + std::to_string(activity.thread);
  }
  for (const auto& [row, name] : names) events.name("thread_name", {kJob, row}, name);
}

void Rows::name_device(Events& events) const {
  const std::uint32_t device = trace_.info.device.index;
  events.name("process_name", {device, 0}, "GPU " + std::to_string(device));
  events.sort(device, kSortDevices + device);
  std::map<std::uint32_t, std::string> names;
  for (const Activity& activity : trace_.activities) {
    const std::uint32_t row = of(activity).thread;
    if (on_stream(activity)) names[row] = "stream " + std::to_string(activity.stream);
    if (activity.kind == ActivityKind::kWait)
      names[row] = "waits for stream " + std::to_string(activity.stream);
  }
  for (const auto& [row, name] : names) events.name("thread_name", {device, row}, name);
}

}  // namespace stowage::replay
