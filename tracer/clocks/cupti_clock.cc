#include "tracer/clocks/cupti_clock.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tracer/cupti/times/attribution.h"

namespace stowage::tracer {
namespace {

using cupti::Record;
using cupti::RecordKind;

std::optional<ActivityKind> kind_of(const Record& record) {
  switch (record.kind) {
    case RecordKind::kKernel:
      return ActivityKind::kKernel;
    case RecordKind::kMemcpy:
    case RecordKind::kMemcpyPeer:
      return ActivityKind::kCopy;
    case RecordKind::kMemset:
      return ActivityKind::kFill;
    case RecordKind::kRuntimeCall:
    case RecordKind::kDriverCall:
      return ActivityKind::kCall;
    case RecordKind::kSynchronization:
      return ActivityKind::kWait;
    case RecordKind::kMemoryOperation:
      return ActivityKind::kMemory;
    case RecordKind::kOverhead:
      return ActivityKind::kOverhead;
    case RecordKind::kExternalCorrelation:
    case RecordKind::kMemoryPool:
      return std::nullopt;
  }
  return std::nullopt;
}

// GPU work and memory operations say which device they are of; calls and waits do not.
bool is_of(const Record& record, std::uint32_t device) {
  const bool says = record.is_gpu_work() || record.kind == RecordKind::kMemoryOperation;
  return !says || record.device == device;
}

OpTimes times_of(const cupti::OpWork& work, OpId op, const cupti::ClockMap& clock) {
  OpTimes times;
  times.op = op;
  times.source = TimeSource::kCupti;
  times.duration_ns = clock.length_ns(work.busy);
  times.on_device = {work.launches, clock.length_ns(work.copying), clock.length_ns(work.overlapping),
                     clock.length_ns(work.waiting)};
  return times;
}

}  // namespace

StartedOp CuptiClock::start() {
  const cupti::OpenedOp opened = source_->push();
  if (opened.id != 0) return {nullptr, opened.id, opened.parent};
  return events_->start();
}

void CuptiClock::stop(const StartedOp& started, OpId op) {
  if (started.id == 0) return events_->stop(started, op);
  const cupti::OpenedOp opened{started.id, started.parent};
  source_->pop(opened);
  const std::lock_guard lock(mutex_);
  ended_.push_back({opened, op});
}

ClockReading CuptiClock::read(bool may_wait) {
  ClockReading reading = events_->read(may_wait);
  cupti::Source::Collected collected = source_->collect();
  std::vector<Ended> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = ended_;
  }
  std::sort(ended.begin(), ended.end(),
            [](const Ended& a, const Ended& b) { return a.opened.id < b.opened.id; });
  std::vector<cupti::OpenedOp> opened;
  opened.reserve(ended.size());
  for (const Ended& one : ended) opened.push_back(one.opened);
  const cupti::Attribution found = cupti::attribute(collected.records, opened, device_, collected.losses);
  const bool lost = source_->is_lost();
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].op == kNoOp || (lost && found.work[i].busy == 0)) continue;
    reading.ops.push_back(times_of(found.work[i], ended[i].op, collected.clock));
  }
  for (std::size_t i = 0; i < collected.records.size(); ++i) {
    const Record& record = collected.records[i];
    const std::optional<ActivityKind> kind = kind_of(record);
    if (!kind || !is_of(record, device_) || record.end < record.begin) continue;
    const std::uint32_t op = found.op_of[i];
    reading.activities.push_back({*kind, record.name,
                                  op == cupti::Attribution::kNoOpIndex ? kNoOp : ended[op].op, record.stream,
                                  record.thread, record.correlation, collected.clock.steady_ns(record.begin),
                                  collected.clock.length_ns(record.end - record.begin),
                                  record.is_gpu_work() || *kind == ActivityKind::kMemory ? record.value : 0});
  }
  reading.names = std::move(collected.names);
  reading.losses = collected.losses;
  return reading;
}

}  // namespace stowage::tracer
