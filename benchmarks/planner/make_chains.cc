// planner_make_chains: chains of layers, forward and back, with and without skips, and what the scheduler
// makes of them at three budgets, as JSON. benchmarks/planner/optimum.py compares that with the optimum.
//
// Bytes are in granules, times in microseconds.
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/support/mix.h"
#include "planner/schedule/model/play.h"
#include "planner/schedule/scheduler.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kSkip = 3;  // layers
constexpr std::uint64_t kNs = 1000;

/// `seed` 0: all layers are alike; else their sizes and times are its.
StepLog layers(std::uint64_t seed, std::uint32_t count, bool residual) {
  SplitMix lots(seed);
  const auto any = [&](std::uint64_t usual, std::uint64_t least, std::uint64_t more) {
    return seed == 0 ? usual : least + lots.next() % more;
  };
  LogBuilder log;
  std::vector<std::uint32_t> made{log.before(1)};
  std::vector<std::vector<std::uint32_t>> tape;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<std::uint32_t> reads{made.back()};
    if (residual && i >= kSkip && i % kSkip == 0) reads.push_back(made[i - kSkip]);
    made.push_back(log.op(reads, any(4, 1, 8), any(50, 10, 90)));
    reads.push_back(made.back());
    tape.push_back(reads);
  }
  std::uint32_t gradient = log.op({made.back()}, any(4, 1, 4));
  for (std::uint32_t i = count; i-- > 0;) {
    std::vector<std::uint32_t> reads = tape[i];
    reads.push_back(gradient);
    const std::uint32_t next = log.op(reads, any(4, 1, 4), any(100, 20, 180));
    log.free(gradient);
    log.free(made[i + 1]);
    gradient = next;
  }
  log.free(gradient);
  return log.build();
}

Json ops_of(const StepLog& log) {
  Json ops = Json::array();
  for (const Op& op : log.trace.ops) {
    Json reads = Json::array();
    for (std::uint32_t i = 0; i < op.input_count; ++i)
      reads.push_back(log.trace.values[op.first_value + i].buffer.value());
    const BufferId made = log.trace.values[op.first_value + op.input_count].buffer;
    ops.push_back({{"reads", reads},
                   {"makes", made.value()},
                   {"bytes", log.trace.buffers[made.value()].rounded.value() / kGranule.value()},
                   {"us", op.duration_ns / kNs}});
  }
  return ops;
}

Json schedule_of(const StepLog& log, Bytes budget) {
  ScheduleOptions options;
  options.smallest = Bytes(0);
  options.placed = false;
  const Result<Schedule> made = make_schedule(log, budget, options);
  if (!made) return nullptr;
  return {{"us", made->replay_ns / kNs}, {"bound_us", made->bound_ns / kNs}};
}

Json chain_and_schedules(std::uint32_t count, bool residual, std::uint64_t seed) {
  const StepLog log = layers(seed, count, residual);
  const std::uint64_t peak = play(*make_op_graph(log), {}).peak;
  Json cells = Json::array();
  for (const std::uint64_t percent : {75, 50, 40}) {
    const Bytes budget(peak * percent / 100);
    cells.push_back({{"percent", percent},
                     {"budget", static_cast<double>(budget.value()) / static_cast<double>(kGranule.value())},
                     {"schedule", schedule_of(log, budget)},
                     {"with_5_percent_more", schedule_of(log, Bytes(budget.value() * 21 / 20))}});
  }
  const std::uint64_t before = log.trace.buffers.front().rounded.value() / kGranule.value();
  return {{"residual", residual}, {"seed", seed}, {"before", before}, {"ops", ops_of(log)}, {"cells", cells}};
}

}  // namespace
}  // namespace stowage::planner::schedule

int main() {
  nlohmann::json chains = nlohmann::json::array();
  for (const std::uint32_t layers : {9, 19, 29}) {
    for (const bool residual : {false, true}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed)
        chains.push_back(stowage::planner::schedule::chain_and_schedules(layers, residual, seed));
    }
  }
  std::cout << chains << '\n';
  return 0;
}
