#include "planner/schedule/check/log_contents.h"

namespace stowage::planner::schedule {

LogContents::LogContents(const StepLog& log) : log_(log) {
  for (std::uint32_t b = 0; b < log.trace.buffers.size(); ++b) number(b, 0);
  for (const Value& value : log.trace.values) slots_.push_back(number(value.buffer.value(), value.version));
}

Content LogContents::number(std::uint32_t buffer, std::uint32_t version) {
  const auto [at, fresh] = numbers_.try_emplace({buffer, version}, static_cast<Content>(homes_.size()));
  if (fresh) {
    homes_.push_back(buffer);
    first_.push_back(version == 0);
  }
  return at->second;
}

std::vector<std::uint32_t> LogContents::makers() const {
  std::vector<std::uint32_t> makers(count(), kNothing);
  for (std::uint32_t op = 0; op < log_.trace.ops.size(); ++op) {
    for (std::size_t value = outputs_at(op); value < end_of(op); ++value) {
      if (log_.roles[value] == ValueRole::kMade) makers[slots_[value]] = op;
    }
  }
  return makers;
}

std::vector<Content> LogContents::sources(std::uint32_t op) const {
  std::vector<Content> found;
  for (std::size_t value = inputs_at(op); value < outputs_at(op); ++value) {
    if (log_.roles[value] == ValueRole::kRead || log_.roles[value] == ValueRole::kChanged)
      found.push_back(slots_[value]);
  }
  return found;
}

std::uint64_t LogContents::fresh_bytes(std::uint32_t op) const {
  std::uint64_t sum = 0;
  for (std::size_t value = outputs_at(op); value < end_of(op); ++value) {
    const Content made = slots_[value];
    if (first_[made]) sum += log_.trace.buffers[homes_[made]].rounded.value();
  }
  return sum;
}

std::vector<LastingState> lasting_under(const StepLog& log, const Schedule& schedule) {
  std::vector<std::uint32_t> last_use(log.trace.buffers.size(), 0);
  std::vector<bool> written(log.trace.buffers.size(), false);
  for (std::uint32_t index = 0; index < log.trace.ops.size(); ++index) {
    const Op& op = log.trace.ops[index];
    for (std::size_t at = op.first_value; at < std::size_t{op.first_value} + op.input_count; ++at) {
      const std::uint32_t buffer = log.trace.values[at].buffer.value();
      last_use[buffer] = index;
      const bool writes = log.roles[at] == ValueRole::kChanged || log.roles[at] == ValueRole::kReplaced;
      written[buffer] = written[buffer] || writes;
    }
  }
  std::vector<LastingState> states;
  for (const LastingBuffer& one : lasting_buffers(log))
    states.push_back({one.buffer.value(), written[one.buffer.value()], false});
  for (const Action& action : schedule.actions) {
    if (action.entry < kLastingEntries || action.entry - kLastingEntries >= states.size()) continue;
    LastingState& state = states[action.entry - kLastingEntries];
    state.away = action.kind == ActionKind::kOffload && action.op > last_use[state.buffer];
  }
  return states;
}

}  // namespace stowage::planner::schedule
