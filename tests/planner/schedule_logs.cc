#include "tests/planner/schedule_logs.h"

#include <algorithm>
#include <array>

#include "core/support/check.h"
#include "core/support/mix.h"

namespace stowage::planner::schedule {

std::uint32_t LogBuilder::add(std::uint64_t granules, Stay stay, bool preexisting) {
  Buffer buffer;
  buffer.bytes = buffer.rounded = Bytes(granules * kGranule.value());
  buffer.birth = preexisting ? Tick(0) : Tick(tick_++);
  buffer.preexisting = preexisting;
  log_.trace.buffers.push_back(buffer);
  log_.stays.push_back(stay);
  log_.pinned_from.push_back(kNoOp);
  versions_.push_back(0);
  return static_cast<std::uint32_t>(versions_.size() - 1);
}

std::uint32_t LogBuilder::before(std::uint64_t granules) {
  STOWAGE_CHECK(log_.trace.ops.empty(), "what was there before comes first");
  return add(granules, Stay::kBefore, true);
}

std::uint32_t LogBuilder::unseen(std::uint64_t granules) { return add(granules, Stay::kUnseen, false); }

std::vector<std::uint32_t> LogBuilder::op(const std::vector<Input>& inputs,
                                          const std::vector<Output>& outputs, const Extras& extras) {
  Op op;
  op.begin = Tick(tick_++);
  op.duration_ns = extras.cost_us * 1000;
  op.workspace = Bytes(extras.workspace * kGranule.value());
  op.first_value = static_cast<std::uint32_t>(log_.trace.values.size());
  const auto note = [&](std::uint32_t buffer, ValueRole role) {
    log_.trace.values.push_back({BufferId(buffer), versions_[buffer]});
    log_.roles.push_back(role);
  };
  for (const Input& input : inputs) note(input.buffer, input.role);
  std::vector<std::uint32_t> made;
  for (const Output& output : outputs) {
    const std::uint32_t buffer = add(output.granules, output.recipe ? Stay::kMayGo : Stay::kNoRecipe, false);
    log_.made.push_back(BufferId(buffer));
    made.push_back(buffer);
    note(buffer, output.recipe ? ValueRole::kMade : ValueRole::kMadeForGood);
  }
  for (const Input& input : inputs) {
    if (input.role != ValueRole::kChanged && input.role != ValueRole::kReplaced) continue;
    ++versions_[input.buffer];
    note(input.buffer, extras.recipe ? ValueRole::kMade : ValueRole::kMadeForGood);
  }
  op.input_count = static_cast<std::uint32_t>(inputs.size());
  op.output_count = static_cast<std::uint32_t>(log_.trace.values.size()) - op.first_value - op.input_count;
  op.end = Tick(tick_++);
  log_.trace.ops.push_back(op);
  log_.shape_hashes.push_back(mix(log_.trace.ops.size()));
  log_.replay_extra.emplace_back(extras.replay_extra * kGranule.value());
  return made;
}

std::uint32_t LogBuilder::op(const std::vector<std::uint32_t>& reads, std::uint64_t granules,
                             std::uint64_t cost_us) {
  std::vector<Input> inputs;
  for (const std::uint32_t read : reads) inputs.push_back({read, ValueRole::kRead});
  return op(inputs, {{granules}}, {cost_us}).front();
}

void LogBuilder::free(std::uint32_t buffer) {
  log_.trace.buffers[buffer].free_requested = log_.trace.buffers[buffer].death = Tick(tick_++);
}

void LogBuilder::store(std::uint32_t buffer, std::uint64_t copy_us) {
  log_.copy_ns.resize(log_.trace.buffers.size(), 0);
  log_.copy_ns[buffer] = copy_us * 1000;
}

StepLog LogBuilder::build() {
  if (!log_.copy_ns.empty()) log_.copy_ns.resize(log_.trace.buffers.size(), 0);
  log_.trace.names = {"op"};
  log_.trace.end = Tick(tick_);
  for (std::size_t i = 0; i < log_.stays.size(); ++i) {
    if (log_.stays[i] == Stay::kMayGo && log_.trace.buffers[i].death == kNever)
      log_.stays[i] = Stay::kSurvives;
  }
  STOWAGE_CHECK(log_.validate().ok(), "a log of the builder is valid");
  return log_;
}

StepLog chain(std::uint32_t layers, std::uint64_t granules) {
  LogBuilder log;
  const std::uint32_t weight = log.before(2);
  std::vector<std::uint32_t> values{log.before(granules)};
  for (std::uint32_t i = 0; i < layers; ++i)
    values.push_back(log.op({values.back(), weight}, granules, 10 + i % 3 * 20));
  std::uint32_t gradient = log.op({values.back()}, granules);
  for (std::uint32_t i = layers; i-- > 0;) {
    const std::uint32_t next = log.op({gradient, values[i], values[i + 1], weight}, granules, 40);
    log.free(gradient);
    log.free(values[i + 1]);
    gradient = next;
  }
  log.free(gradient);
  return log.build();
}

StepLog unet(std::uint32_t depth) {
  LogBuilder log;
  const std::uint32_t weight = log.before(4);
  std::uint32_t x = log.before(64);
  std::vector<std::vector<std::uint32_t>> tape;  // output, inputs
  const auto layer = [&](std::vector<std::uint32_t> reads, std::uint64_t granules, std::uint64_t cost_us) {
    reads.push_back(weight);
    const std::uint32_t out = log.op(reads, granules, cost_us);
    reads.pop_back();
    reads.insert(reads.begin(), out);
    tape.push_back(reads);
    return out;
  };
  std::vector<std::uint32_t> skips;
  for (std::uint32_t level = 0; level < depth; ++level) {
    x = layer({x}, 64u >> level, 80);
    skips.push_back(x = layer({x}, 64u >> level, 5));
    x = layer({x}, std::max(1u, 32u >> level), 10);
  }
  for (std::uint32_t level = depth; level-- > 0;) {
    x = layer({x, skips[level]}, 64u >> level, 15);
    x = layer({x}, 64u >> level, 80);
  }
  std::uint32_t gradient = log.op({x}, 64);
  for (auto row = tape.rbegin(); row != tape.rend(); ++row) {
    std::vector<std::uint32_t> reads = *row;
    reads.push_back(gradient);
    const std::uint32_t next = log.op(reads, 8, 100);
    log.free(gradient);
    log.free(row->front());
    gradient = next;
  }
  log.free(gradient);
  return log.build();
}

StepLog transformer(std::uint32_t blocks) {
  LogBuilder log;
  const std::uint32_t weight = log.before(16);
  std::uint32_t x = log.before(8);
  std::vector<std::vector<std::uint32_t>> saved;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const auto norm = log.op({{x}, {weight}}, {{8}, {1}, {1}}, {5, 0, 0, true});
    const std::uint32_t qkv = log.op({norm[0], weight}, 24, 60);
    const std::uint32_t scores = log.op({qkv}, 32, 30);
    const std::uint32_t soft = log.op({scores}, 32, 8);
    log.free(scores);
    const auto mask = log.op({{soft}}, {{32, false}}, {2, 0, 0, true});  // from nothing: no recipe
    log.op({{mask[0], ValueRole::kReplaced}}, {}, {6, 0, 1, true});
    const std::uint32_t dropped = log.op({soft, mask[0]}, 32, 6);
    const std::uint32_t out = log.op({dropped, qkv, weight}, 8, 60);
    const std::uint32_t sum = log.op({x, out}, 8, 3);
    log.free(out);
    const std::uint32_t wide = log.op({sum, weight}, 32, 90);
    const std::uint32_t gelu = log.op({wide}, 32, 12);
    const std::uint32_t narrow = log.op({gelu, weight}, 8, 90);
    log.op({{narrow, ValueRole::kChanged}, {sum, ValueRole::kRead}}, {}, {3, 0, 0, true});
    saved.push_back({norm[0], norm[1], norm[2], qkv, soft, mask[0], dropped, sum, wide, gelu});
    if (i > 0) saved.back().push_back(x);
    x = narrow;
  }
  std::uint32_t gradient = log.op({x}, 8);
  log.free(x);
  for (auto block = saved.rbegin(); block != saved.rend(); ++block) {
    std::vector<std::uint32_t> left = *block;
    while (!left.empty()) {
      const std::uint32_t next = log.op({left.back(), gradient, weight}, 8, 40);
      log.free(gradient);
      log.free(left.back());
      gradient = next;
      left.pop_back();
    }
  }
  log.op({{weight, ValueRole::kChanged}, {gradient}}, {}, {5, 0, 0, false});
  log.free(gradient);
  return log.build();
}

StepLog optimized(std::uint32_t layers, std::uint64_t parameter, std::uint64_t activation,
                  std::uint64_t copy_us) {
  LogBuilder log;
  std::vector<std::array<std::uint32_t, 3>> lasting(layers);  // parameter, states
  for (auto& three : lasting) {
    for (std::uint32_t& one : three) one = log.before(parameter);
  }
  std::vector<std::uint32_t> values{log.before(activation)};
  for (std::uint32_t i = 0; i < layers; ++i)
    values.push_back(log.op({values.back(), lasting[i][0]}, activation, 30));
  std::uint32_t gradient = log.op({values.back()}, activation);
  std::vector<std::uint32_t> gradients(layers);
  for (std::uint32_t i = layers; i-- > 0;) {
    gradients[i] = log.op({{gradient}, {values[i]}}, {{parameter, false}}, {30, 0, 0, true}).front();
    const std::uint32_t next = log.op({gradient, values[i + 1], lasting[i][0]}, activation, 30);
    log.free(gradient);
    log.free(values[i + 1]);
    gradient = next;
  }
  log.free(gradient);
  for (std::uint32_t i = 0; i < layers; ++i) {
    log.op({{lasting[i][0], ValueRole::kChanged},
            {lasting[i][1], ValueRole::kChanged},
            {lasting[i][2], ValueRole::kChanged},
            {gradients[i]}},
           {}, {5, 0, 0, false});
    for (const std::uint32_t one : lasting[i]) log.store(one, copy_us);
    log.store(gradients[i], copy_us);
    log.free(gradients[i]);
  }
  return log.build();
}

Bytes share_of_peak(const StepLog& log, double share) {
  return Bytes(static_cast<std::uint64_t>(share * static_cast<double>(play(*make_op_graph(log), {}).peak)));
}

Schedule of_steps(const StepLog& log, const OpGraph& graph, const std::vector<Step>& steps) {
  Schedule schedule;
  schedule.shape_hashes = log.shape_hashes;
  for (const Step& step : steps)
    schedule.actions.push_back({step.kind, step.op, graph.buffers[step.buffer].entry});
  return schedule;
}

StepLog random_log(std::uint64_t seed, std::uint32_t ops) {
  SplitMix lots(seed);
  const auto below = [&](std::uint64_t n) { return lots.next() % n; };
  LogBuilder log;
  std::vector<std::uint32_t> alive;
  for (std::uint64_t i = 0, n = 1 + below(2); i < n; ++i) alive.push_back(log.before(1 + below(3)));
  for (std::uint32_t i = 0; i < ops; ++i) {
    if (below(12) == 0) alive.push_back(log.unseen(1 + below(3)));
    std::vector<LogBuilder::Input> inputs;
    for (std::uint64_t k = 0, n = 1 + below(3); k < n; ++k) {
      const std::uint32_t buffer = alive[below(alive.size())];
      const bool twice =
          std::any_of(inputs.begin(), inputs.end(), [&](auto& in) { return in.buffer == buffer; });
      if (!twice) inputs.push_back({buffer, ValueRole::kRead});
    }
    const std::uint64_t kind = below(8);
    if (kind == 0) inputs[0].role = ValueRole::kChanged;
    if (kind == 1) inputs[0].role = ValueRole::kReplaced;
    if (kind == 2 && inputs.size() > 1) inputs[1].role = ValueRole::kKept;
    std::vector<LogBuilder::Output> outputs;
    const std::uint64_t count = kind <= 1 ? below(2) : 1 + below(2);
    for (std::uint64_t k = 0; k < count; ++k) outputs.push_back({1 + below(4), below(6) != 0});
    // An op that changes a leaf has no recipe, as in the runtime.
    const bool recipe = below(5) != 0;
    const auto made = log.op(inputs, outputs, {1 + below(9), below(3), below(2), recipe});
    if (below(6) == 0) log.pin(inputs[0].buffer);
    alive.insert(alive.end(), made.begin(), made.end());
    if (alive.size() > 2 && below(2) == 0) {
      const std::uint64_t at = below(alive.size());
      log.free(alive[at]);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  while (!alive.empty() && below(6) != 0) {
    log.free(alive.back());
    alive.pop_back();
  }
  return log.build();
}

}  // namespace stowage::planner::schedule
