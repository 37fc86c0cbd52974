#include "recompute/schedule/step_times.h"

#include <algorithm>

namespace stowage::recompute {

void StepTimes::begin_iteration() { iterations_.push_back({next_op_, {}}); }

void StepTimes::stop(const TimedOp& started, std::uint32_t op) {
  if (timer_ == nullptr || iterations_.empty()) return;
  const std::uint32_t number = iterations_.back().first_op + op;
  next_op_ = std::max(next_op_, number + 1);
  timer_->stop(started, number);
}

void StepTimes::stop_aside(TimedOp started) {
  started.parent = 0;
  if (timer_ != nullptr) timer_->stop(started, kNoOp.value());
}

// The numbers of op 0 of those iterations that ran the same ops as `log`; without the first, if there are
// others.
std::vector<std::uint32_t> StepTimes::firsts_of_same(const StepLog& log) const {
  std::vector<std::uint32_t> firsts;
  for (std::size_t i = 0; i < iterations_.size(); ++i) {
    const bool counts = i > 0 || iterations_.size() == 1;
    if (counts && iterations_[i].shapes == log.shape_hashes) firsts.push_back(iterations_[i].first_op);
  }
  return firsts;
}

void StepTimes::put_into(StepLog& log) {
  if (timer_ == nullptr) return;
  std::vector<OpTimer::Time> by_number(next_op_);
  for (const OpTimer::Time& time : timer_->read())
    if (time.op < next_op_) by_number[time.op] = time;
  const std::vector<std::uint32_t> firsts = firsts_of_same(log);
  for (std::uint32_t op = 0; op < log.trace.ops.size(); ++op) {
    std::vector<OpTimer::Time> measured;
    for (const std::uint32_t first : firsts) {
      if (first + op < next_op_ && by_number[first + op].source != TimeSource::kNone)
        measured.push_back(by_number[first + op]);
    }
    if (measured.empty()) continue;
    const auto middle = measured.begin() + static_cast<std::ptrdiff_t>(measured.size() / 2);
    std::nth_element(measured.begin(), middle, measured.end(),
                     [](const OpTimer::Time& a, const OpTimer::Time& b) { return a.ns < b.ns; });
    log.trace.ops[op].duration_ns = middle->ns;
    log.trace.ops[op].timed_by = middle->source;
  }
}

}  // namespace stowage::recompute
