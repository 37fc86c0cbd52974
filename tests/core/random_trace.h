// Seeded random traces and plans that pass validate(): the same seed makes the same object everywhere.
//
// For tests only. The engine is splitmix64 and ranges are taken by remainder, since the standard
// distributions differ between libraries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/plan.h"
#include "core/trace.h"

namespace stowage::testing {

/// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30u)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27u)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31u);
  }
  /// In [0, bound). Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  std::uint32_t below32(std::uint64_t bound) { return static_cast<std::uint32_t>(below(bound)); }
  /// True once in `n` times.
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

struct RandomTraceOptions {
  std::uint32_t events = 300;     ///< ticks the trace has, about
  std::uint32_t preexisting = 5;  ///< buffers that were alive before
  std::uint32_t streams = 3;
  std::uint64_t max_bytes = 1 << 20;
};

/// Builds a trace event by event, as a recorder would.
class RandomTraceMaker {
 public:
  RandomTraceMaker(std::uint64_t seed, RandomTraceOptions options) : random_(seed), options_(options) {}

  Trace make() {
    describe();
    for (std::uint32_t i = 0; i < options_.preexisting; ++i) add_buffer(true);
    while (now_ < options_.events) step();
    trace_.end = Tick(now_);
    add_steady();
    add_device();
    return std::move(trace_);
  }

 private:
  Tick tick() { return Tick(now_++); }

  void describe() {
    trace_.info.device.kind = random_.one_in(2) ? DeviceKind::kCpu : DeviceKind::kCuda;
    trace_.info.device.index = random_.below32(8);
    trace_.info.device_name = "device " + std::to_string(random_.below(100));
    trace_.info.torch_version = "2.11.0";
    trace_.info.job = std::string(random_.below(40), 'j');
    trace_.info.device_memory = Bytes(random_.below(std::uint64_t{1} << 40));
    for (std::uint64_t i = 0; i <= random_.below(12); ++i)
      trace_.names.push_back("aten::op_" + std::to_string(i));
  }

  void step() {
    const std::uint64_t choice = random_.below(100);
    if (choice < 40) return add_buffer(false);
    if (choice < 70) return free_buffer();
    if (choice < 83) return begin_op();
    if (choice < 96) return end_op();
    const auto source = MarkSource{static_cast<std::uint8_t>(random_.below(3))};
    trace_.marks.push_back({tick(), source, random_.below(1'000'000)});
  }

  void add_buffer(bool preexisting) {
    Buffer buffer;
    buffer.bytes = Bytes(1 + random_.below(options_.max_bytes));
    buffer.rounded = round_up(buffer.bytes);
    buffer.stream = StreamId(random_.below32(options_.streams));
    buffer.thread = random_.below32(4);
    buffer.op = open_ops_.empty() ? kNoOp : open_ops_.back();
    buffer.birth = preexisting ? Tick(0) : tick();
    buffer.preexisting = preexisting;
    buffer.cross_stream = random_.one_in(10);
    live_.push_back(trace_.buffers.size());
    trace_.buffers.push_back(buffer);
  }

  void free_buffer() {
    if (live_.empty()) return;
    const std::uint64_t at = random_.below(live_.size());
    Buffer& buffer = trace_.buffers[live_[at]];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
    const std::uint64_t earliest = buffer.birth.value();
    buffer.free_requested = Tick(buffer.cross_stream ? earliest + random_.below(now_ - earliest + 1) : now_);
    if (buffer.cross_stream && random_.one_in(4)) return;  // asked for, and not complete when recording ends
    buffer.death = tick();
  }

  void begin_op() {
    Op op;
    op.name = random_.below32(trace_.names.size());
    op.flags = random_.below32(kOpNondeterministic << 1u);
    op.thread = random_.below32(4);
    op.stream = StreamId(random_.below32(options_.streams));
    op.parent = open_ops_.empty() ? kNoOp : open_ops_.back();
    op.begin = tick();
    open_ops_.push_back(OpId(static_cast<std::uint32_t>(trace_.ops.size())));
    trace_.ops.push_back(op);
  }

  void end_op() {
    if (open_ops_.empty()) return;
    Op& op = trace_.ops[open_ops_.back().value()];
    open_ops_.pop_back();
    op.end = tick();
    op.duration_ns = random_.below(1'000'000);
    op.timed_by = TimeSource{static_cast<std::uint8_t>(random_.below(5))};
    op.begin_ns = random_.below(1'000'000);
    op.end_ns = op.begin_ns + random_.below(1'000);
    op.workspace = Bytes(random_.below(options_.max_bytes));
    op.first_value = static_cast<std::uint32_t>(trace_.values.size());
    op.input_count = random_.below32(4);
    op.output_count = random_.below32(3);
    for (std::uint32_t i = 0; i < op.input_count + op.output_count; ++i) add_value();
  }

  void add_value() {
    const bool known = !trace_.buffers.empty() && !random_.one_in(10);
    const BufferId buffer = known ? BufferId(random_.below32(trace_.buffers.size())) : kNoBuffer;
    trace_.values.push_back({buffer, random_.below32(5)});
  }

  /// What CUPTI would have recorded; in two of three traces nothing.
  void add_device() {
    if (!random_.one_in(3)) return;
    trace_.clock_realtime_ns = random_.next();
    for (std::size_t i = 0; i < trace_.ops.size(); ++i)
      trace_.on_device.push_back(
          {random_.below32(9), random_.below(1000), random_.below(1000), random_.below(1000)});
    std::uint64_t now_ns = 0;
    for (std::uint64_t i = random_.below(200); i > 0; --i) add_activity(now_ns += random_.below(5'000));
    trace_.losses.dropped = random_.below(3);
    trace_.losses.beyond_limit = random_.below(3);
    for (std::uint64_t i = random_.below(4); i > 0; --i)
      trace_.phases.push_back({random_.below32(trace_.names.size()), now_ns += random_.below(5'000)});
  }

  void add_activity(std::uint64_t begin_ns) {
    Activity activity;
    activity.kind = ActivityKind{static_cast<std::uint8_t>(random_.below(7))};
    activity.name = random_.below32(trace_.names.size());
    if (!trace_.ops.empty() && !random_.one_in(4)) activity.op = OpId(random_.below32(trace_.ops.size()));
    activity.stream = random_.below32(8);
    activity.thread = random_.below32(8);
    activity.correlation = random_.below32(1000);
    activity.begin_ns = begin_ns;
    activity.duration_ns = random_.below(10'000);
    activity.bytes = random_.below(1 << 20);
    trace_.activities.push_back(activity);
  }

  void add_steady() {
    if (now_ < 10 || random_.one_in(3)) return;
    const std::uint64_t length = 1 + random_.below(now_ / 2);
    const std::uint64_t begin = random_.below(now_ - 2 * length + 1);
    trace_.steady = {Tick(begin), Tick(begin + length), Tick(begin + 2 * length)};
  }

  Random random_;
  RandomTraceOptions options_;
  Trace trace_;
  std::vector<std::size_t> live_;
  std::vector<OpId> open_ops_;
  std::uint64_t now_ = 0;
};

/// A valid trace. Its steady window, if any, has ordered ticks, but not equal windows.
inline Trace random_trace(std::uint64_t seed, RandomTraceOptions options = {}) {
  return RandomTraceMaker(seed, options).make();
}

/// A valid plan of `count` entries; lifetimes are not thought of, so entries may share bytes.
inline Plan random_plan(std::uint64_t seed, std::uint32_t count = 100) {
  Random random(seed);
  Plan plan;
  plan.device = random.one_in(2) ? DeviceKind::kCpu : DeviceKind::kCuda;
  plan.fingerprint = random.next();
  std::uint64_t height = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    PlanEntry entry{Bytes((1 + random.below(64)) * kGranule.value()), StreamId(random.below32(3))};
    if (!random.one_in(10)) entry.offset = Offset(random.below(256) * kGranule.value());
    if (entry.offset != kUpstream && random.one_in(5)) entry.spare = entry.offset + entry.rounded;
    const Offset top = entry.spare == kUpstream ? entry.offset : entry.spare;
    if (top != kUpstream) height = std::max(height, (top + entry.rounded).value());
    plan.entries.push_back(entry);
  }
  plan.height = Bytes(height);
  plan.lower_bound = Bytes(height == 0 ? 0 : random.below(height));
  plan.proved_optimal = random.one_in(2);
  for (std::uint64_t i = random.below(3); i > 0; --i) plan.inner_marks.push_back(random.below32(count + 1));
  std::sort(plan.inner_marks.begin(), plan.inner_marks.end());
  plan.technique = "random";
  plan.planning_ns = random.below(1'000'000'000);
  return plan;
}

}  // namespace stowage::testing
