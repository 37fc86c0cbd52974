#include "tracer/cupti/times/attribution.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/support/check.h"

namespace stowage::tracer::cupti {
namespace {

constexpr std::uint32_t kNone = Attribution::kNoOpIndex;
// cbids of cudaLaunchKernel, cudaLaunchKernelExC and cudaGraphLaunch, the same in all versions.
constexpr std::uint32_t kLaunches[] = {211, 430, 311};

bool is_launch(const Record& record) {
  return record.kind == RecordKind::kRuntimeCall &&
         std::find(std::begin(kLaunches), std::end(kLaunches), record.detail) != std::end(kLaunches);
}

// The first pass: what is known of each correlation id.
class Correlations {
 public:
  Correlations(const std::vector<Record>& records, const std::vector<OpenedOp>& ops) {
    for (const Record& record : records) {
      if (record.is_call()) calls_.insert(record.correlation);
      if (record.kind == RecordKind::kExternalCorrelation && record.detail == kOurExternalKind)
        note(record, ops);
    }
  }
  [[nodiscard]] bool has_call(std::uint32_t correlation) const { return calls_.contains(correlation); }
  [[nodiscard]] std::uint32_t op_of(std::uint32_t correlation) const {
    const auto found = ops_.find(correlation);
    return found == ops_.end() ? kNone : found->second;
  }

 private:
  void note(const Record& external, const std::vector<OpenedOp>& ops) {
    const auto at = std::lower_bound(ops.begin(), ops.end(), external.value,
                                     [](const OpenedOp& op, std::uint64_t id) { return op.id < id; });
    if (at != ops.end() && at->id == external.value)
      ops_[external.correlation] = static_cast<std::uint32_t>(at - ops.begin());
  }
  std::unordered_set<std::uint32_t> calls_;
  std::unordered_map<std::uint32_t, std::uint32_t> ops_;
};

// The second pass: the intervals of each op and of each stream.
struct Intervals {
  struct OfOp {
    std::map<std::uint32_t, std::vector<Interval>> busy;  // by stream
    std::vector<Interval> copying, waiting;
    std::uint32_t launches = 0;
  };
  std::vector<OfOp> ops;
  std::map<std::uint32_t, std::vector<Interval>> streams;
};

bool is_timed(const Record& record, ActivityLosses& losses) {
  if (record.end == 0 && record.begin != 0) {
    ++losses.unfinished;
    return false;
  }
  if (record.begin == 0 || record.end < record.begin) {
    ++losses.untimed;
    return false;
  }
  return true;
}

void add_work(const Record& record, std::uint32_t op, Intervals& into, ActivityLosses& losses) {
  if (!is_timed(record, losses)) return;
  const Interval interval{record.begin, record.end};
  into.streams[record.stream].push_back(interval);
  if (op == kNone) return;
  Intervals::OfOp& own = into.ops[op];
  own.busy[record.stream].push_back(interval);
  if (record.is_copy()) own.copying.push_back(interval);
  own.launches += record.kind == RecordKind::kKernel ? 1 : 0;
}

Intervals collect(const std::vector<Record>& records, const Correlations& known, std::uint32_t device,
                  Attribution& found, ActivityLosses& losses) {
  Intervals intervals;
  intervals.ops.resize(found.work.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const std::uint32_t op = found.op_of[i] = known.op_of(record.correlation);
    if (record.is_gpu_work() && record.device == device) {
      if (!known.has_call(record.correlation)) {
        ++losses.uncorrelated;
      } else if (op == kNone) {
        ++losses.unattributed;
      }
      add_work(record, op, intervals, losses);
    } else if (record.kind == RecordKind::kSynchronization && op != kNone && record.end >= record.begin) {
      intervals.ops[op].waiting.push_back({record.begin, record.end});
    }
  }
  return intervals;
}

void append(std::vector<Interval>& to, const std::vector<Interval>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// An op's time includes that of the ops inside it, whose ids are higher than its own.
void pass_to_parents(const std::vector<OpenedOp>& ops, Intervals& intervals) {
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (ops[i].parent == 0) continue;
    const auto at = std::lower_bound(ops.begin(), ops.end(), ops[i].parent,
                                     [](const OpenedOp& op, std::uint64_t id) { return op.id < id; });
    if (at == ops.end() || at->id != ops[i].parent) continue;
    STOWAGE_CHECK(ops[i].parent < ops[i].id, "an op opens after the one around it");
    const Intervals::OfOp& inner = intervals.ops[i];
    Intervals::OfOp& outer = intervals.ops[static_cast<std::size_t>(at - ops.begin())];
    for (const auto& [stream, busy] : inner.busy) append(outer.busy[stream], busy);
    append(outer.copying, inner.copying);
    append(outer.waiting, inner.waiting);
    outer.launches += inner.launches;
  }
}

using ByStream = std::map<std::uint32_t, std::vector<Interval>>;

// For each stream, when any other one was busy.
ByStream busy_elsewhere(const ByStream& streams) {
  ByStream elsewhere;
  for (const auto& [stream, own] : streams) {
    std::vector<Interval>& others = elsewhere[stream];
    for (const auto& [other, busy] : streams)
      if (other != stream) append(others, busy);
    normalize(others);
  }
  return elsewhere;
}

std::uint64_t normalized_length(std::vector<Interval>& intervals) {
  normalize(intervals);
  return length_of(intervals);
}

OpWork measure(Intervals::OfOp& op, const ByStream& elsewhere) {
  OpWork work;
  work.launches = op.launches;
  work.copying = normalized_length(op.copying);
  work.waiting = normalized_length(op.waiting);
  std::vector<Interval> all;
  std::uint64_t longest = 0;
  for (auto& [stream, busy] : op.busy) {
    const std::uint64_t length = normalized_length(busy);
    if (length >= longest) work.stream = stream;
    longest = std::max(longest, length);
    work.overlapping += common_length(busy, elsewhere.at(stream));
    append(all, busy);
  }
  work.busy = normalized_length(all);
  work.overlapping = std::min(work.overlapping, work.busy);
  if (!all.empty()) work.span = all.back().end - all.front().begin;
  return work;
}

}  // namespace

std::uint64_t missing_work(const std::vector<Record>& records) {
  std::unordered_set<std::uint32_t> worked;
  for (const Record& record : records)
    if (record.is_gpu_work()) worked.insert(record.correlation);
  std::uint64_t missing = 0;
  for (const Record& record : records)
    if (is_launch(record) && !worked.contains(record.correlation)) ++missing;
  return missing;
}

Attribution attribute(const std::vector<Record>& records, const std::vector<OpenedOp>& ops,
                      std::uint32_t device, ActivityLosses& losses) {
  Attribution found;
  found.work.resize(ops.size());
  found.op_of.resize(records.size(), kNone);
  const Correlations known(records, ops);
  Intervals intervals = collect(records, known, device, found, losses);
  pass_to_parents(ops, intervals);
  const ByStream elsewhere = busy_elsewhere(intervals.streams);
  for (std::size_t i = 0; i < ops.size(); ++i) found.work[i] = measure(intervals.ops[i], elsewhere);
  return found;
}

}  // namespace stowage::tracer::cupti
