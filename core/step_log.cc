#include "core/step_log.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stowage {
namespace {

Error invalid(const std::string& what) {
  return Error{ErrorCode::kUnplannable,
               "the log of an iteration is not valid: " + what + "; record it again"};
}

bool is_output(ValueRole role) { return role == ValueRole::kMade || role == ValueRole::kMadeForGood; }

Status check_roles(const StepLog& log, std::size_t index) {
  const Op& op = log.trace.ops[index];
  for (std::uint32_t i = 0; i < op.input_count + op.output_count; ++i) {
    const std::size_t at = std::size_t{op.first_value} + i;
    const std::string name = "op " + std::to_string(index);
    if (log.trace.values[at].buffer == kNoBuffer) return invalid(name + " uses no buffer");
    if (log.roles[at] > ValueRole::kMadeForGood || is_output(log.roles[at]) != (i >= op.input_count))
      return invalid(name + " has a role that does not fit");
  }
  return {};
}

}  // namespace

Status StepLog::validate() const {
  if (Status status = trace.validate(); !status) return status;
  if (stays.size() != trace.buffers.size()) return invalid("not every buffer has its reason to stay");
  if (!copy_ns.empty() && copy_ns.size() != trace.buffers.size())
    return invalid("not every buffer says what copying it takes");
  if (pinned_from.size() != trace.buffers.size()) return invalid("not every buffer says when it is pinned");
  if (roles.size() != trace.values.size()) return invalid("not every value has its role");
  if (shape_hashes.size() != trace.ops.size() || replay_extra.size() != trace.ops.size())
    return invalid("not every op has its shape");
  for (std::size_t index = 0; index < trace.ops.size(); ++index) {
    if (trace.ops[index].end == kNever) return invalid("op " + std::to_string(index) + " does not end");
    if (Status status = check_roles(*this, index); !status) return status;
  }
  for (const BufferId id : made) {
    if (id.value() >= trace.buffers.size() || trace.buffers[id.value()].preexisting)
      return invalid("a made buffer is not in the trace");
  }
  return {};
}

std::vector<LastingBuffer> lasting_buffers(const StepLog& log) {
  std::vector<LastingBuffer> found;
  std::vector<bool> known(log.trace.buffers.size(), false);
  for (std::uint32_t op = 0; op < log.trace.ops.size(); ++op) {
    for (std::uint32_t input = 0; input < log.trace.ops[op].input_count; ++input) {
      const BufferId id = log.trace.values[std::size_t{log.trace.ops[op].first_value} + input].buffer;
      const Buffer& buffer = log.trace.buffers[id.value()];
      if (!buffer.preexisting || buffer.death != kNever || known[id.value()]) continue;
      known[id.value()] = true;
      found.push_back({id, {op, input}});
    }
  }
  return found;
}

std::vector<std::uint32_t> made_before_ops(const StepLog& log) {
  std::vector<std::uint32_t> counts;
  counts.reserve(log.trace.ops.size());
  std::uint32_t made = 0;  // entries are in order of birth, ops in order of their begin
  for (const Op& op : log.trace.ops) {
    while (made < log.made.size() && log.trace.buffers[log.made[made].value()].birth < op.begin) ++made;
    counts.push_back(made);
  }
  return counts;
}

bool is_too_dear(std::uint64_t added_ns, std::uint64_t other_ns, std::uint64_t ops_ns) {
  constexpr std::uint64_t kDearerShare = 4;
  constexpr std::uint64_t kLittleShare = 64;
  return added_ns > other_ns + std::max(other_ns / kDearerShare, ops_ns / kLittleShare);
}

Schedule schedule_of(const StepLog& log, std::vector<Action> actions) {
  Schedule schedule;
  schedule.shape_hashes = log.shape_hashes;
  schedule.made_before = made_before_ops(log);
  schedule.actions = std::move(actions);
  const auto names_lasting = [](const Action& action) { return action.entry >= kLastingEntries; };
  if (std::none_of(schedule.actions.begin(), schedule.actions.end(), names_lasting)) return schedule;
  for (const LastingBuffer& one : lasting_buffers(log)) schedule.lasting.push_back(one.first_use);
  return schedule;
}

namespace {

bool is_codec(const Trace& trace, const Op& op) {
  return op.name < trace.names.size() && trace.names[op.name].starts_with("stowage::");
}

std::uint64_t outer_ns(const StepLog& log, bool of_codecs) {
  std::uint64_t sum = 0;
  for (const Op& op : log.trace.ops) {
    if (op.parent == kNoOp && is_codec(log.trace, op) == of_codecs) sum += op.duration_ns;
  }
  return sum;
}

}  // namespace

std::uint64_t ops_ns(const StepLog& log) { return outer_ns(log, false); }

std::uint64_t encode_ns(const StepLog& log) { return outer_ns(log, true); }

std::vector<std::uint64_t> own_ns(const StepLog& log) {
  std::vector<std::uint64_t> own;
  own.reserve(log.trace.ops.size());
  for (const Op& op : log.trace.ops) {
    own.push_back(op.duration_ns);
    if (op.parent == kNoOp) continue;
    std::uint64_t& outer = own[op.parent.value()];  // it begins before
    outer -= std::min(outer, op.duration_ns);
  }
  return own;
}

void even_out_host_times(StepLog& log) {
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> by_shape;
  for (std::size_t op = 0; op < log.shape_hashes.size(); ++op)
    if (log.trace.ops[op].timed_by == TimeSource::kHost)
      by_shape[log.shape_hashes[op]].push_back(log.trace.ops[op].duration_ns);
  for (auto& [shape, times] : by_shape) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), middle, times.end());
    times.front() = *middle;
  }
  for (std::size_t op = 0; op < log.shape_hashes.size(); ++op)
    if (log.trace.ops[op].timed_by == TimeSource::kHost)
      log.trace.ops[op].duration_ns = by_shape[log.shape_hashes[op]].front();
}

std::uint64_t replayed_ns(const StepLog& log) {
  struct Times {
    std::uint64_t ns = 0;
    std::uint64_t ops = 0;
  };
  std::unordered_map<std::uint64_t, Times> by_shape;
  for (std::size_t op = 0; op < log.shape_hashes.size(); ++op) {
    Times& times = by_shape[log.shape_hashes[op]];
    times.ns += log.trace.ops[op].duration_ns;
    ++times.ops;
  }
  std::uint64_t sum = 0, known = 0;
  for (const std::uint64_t shape : log.replayed) {
    const auto found = by_shape.find(shape);
    if (found == by_shape.end()) continue;
    sum += found->second.ns / found->second.ops;
    ++known;
  }
  return known == 0 ? 0 : sum * log.replayed.size() / known;
}

}  // namespace stowage
