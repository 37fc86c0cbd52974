#include "planner/schedule/sweeps/scores.h"

#include <algorithm>
#include <cmath>

#include "core/support/mix.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kReplayNs = 2000;  // what running any op again costs at least
constexpr std::size_t kManyValues = 64;    // looked at for one score; beyond, the score is a guess

// std::pow, fast for the powers that are used most.
double raised(double base, double power) {
  if (power == 1) return base;
  return power == 0 ? 1 : std::pow(base, power);
}

}  // namespace

Scores::Scores(const OpGraph& graph, const Model& model, const Weights& weights)
    : graph_(graph),
      model_(model),
      weights_(weights),
      next_touch_(graph.buffers.size(), 0),
      op_seen_(graph.ops.size(), 0),
      value_seen_(graph.values.size(), 0) {
  std::uint64_t clock = 0;
  for (const OpGraph::OpNode& op : graph.ops) starts_.push_back(clock += op.cost_ns + kReplayNs);
}

std::optional<Scores::Best> Scores::of(std::uint32_t buffer, std::uint32_t op, bool may_evict,
                                       bool may_offload) {
  if (!may_evict && !may_offload) return std::nullopt;
  op_ = op;
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  const std::uint64_t runs = may_evict ? cost_of(model_.current(buffer)) : kNever;
  const std::uint64_t copies = may_offload ? copies_cost_of(buffer) : kNever;
  const ActionKind way = copies < runs ? ActionKind::kOffload : ActionKind::kEvict;
  const auto cost = static_cast<double>(std::min(runs, copies));
  const auto bytes = static_cast<double>(graph_.buffers[buffer].bytes);
  const auto gap = static_cast<double>(gap_of(buffer));
  const double jitter =
      weights_.noise == 0
          ? 1
          : 1 + weights_.noise * static_cast<double>(mix(weights_.seed + mix(buffer)) >> 40u) / (1u << 24u);
  return Best{jitter * raised(cost, weights_.cost_power) /
                  (raised(bytes, weights_.bytes_power) * raised(gap, weights_.gap_power)),
              way};
}

std::uint64_t Scores::copies_cost_of(std::uint32_t buffer) const {
  const std::uint64_t copies = model_.copies_ns_of(buffer);
  const std::uint64_t ops = model_.queue().now() - model_.queue().waited();
  if (!weights_.always && model_.copy_ns() + copies > ops) return copies;
  return static_cast<std::uint64_t>(weights_.copies * static_cast<double>(copies));
}

// Until it is needed next; what lasts, in the next iteration.
std::uint64_t Scores::gap_of(std::uint32_t buffer) {
  const std::uint64_t need = next_need(model_.current(buffer));
  const bool is_next = need >= graph_.ops.size() && graph_.buffers[buffer].lasts();
  const std::uint64_t more = is_next ? time_of(graph_.touched[buffer].front()) : 0;
  return time_of(need) + more - time_of(op_) + 1;
}

std::uint64_t Scores::time_of(std::uint64_t op) const {
  return op < starts_.size() ? starts_[op] : starts_.back() + kReplayNs;
}

// What bringing it back would run, with all that is absent below it.
std::uint64_t Scores::cost_of(std::uint32_t value) {
  waiting_.assign(1, graph_.values[value].maker);
  op_seen_[waiting_[0]] = ++stamp_;
  std::uint64_t cost = 0;
  for (std::size_t looked = 0; !waiting_.empty() && looked < kManyValues; ++looked) {
    work_ += kLookWork;
    const std::uint32_t op = waiting_.back();
    waiting_.pop_back();
    cost += graph_.ops[op].cost_ns + kReplayNs;
    for (const OpGraph::Use& use : graph_.inputs(op)) {
      if (!OpGraph::feeds(use.role) || !model_.has_recipe(use.value) || model_.materialised(use.value))
        continue;
      const std::uint32_t maker = graph_.values[use.value].maker;
      if (op_seen_[maker] == stamp_) continue;
      op_seen_[maker] = stamp_;
      waiting_.push_back(maker);
    }
  }
  return cost;
}

// The next op that needs it, itself or to bring back something absent above it.
std::uint64_t Scores::next_need(std::uint32_t value) {
  std::uint64_t need = next_touch(graph_.values[value].buffer);
  waiting_.assign(1, value);
  ++stamp_;
  for (std::size_t looked = 0; !waiting_.empty() && looked < kManyValues; ++looked) {
    work_ += kLookWork;
    const std::uint32_t at = waiting_.back();
    waiting_.pop_back();
    for (const std::uint32_t reader : graph_.readers[at]) {
      if (reader >= op_) break;
      for (const OpGraph::Use& out : graph_.outputs(reader)) {
        const std::uint32_t home = graph_.values[out.value].buffer;
        if (out.role != ValueRole::kMade || model_.materialised(out.value)) continue;
        if (model_.current(home) == out.value && model_.is_evicted(home)) {
          need = std::min(need, next_touch(home));
        } else if (value_seen_[out.value] != stamp_) {
          value_seen_[out.value] = stamp_;
          waiting_.push_back(out.value);
        }
      }
    }
  }
  return need;
}

std::uint64_t Scores::next_touch(std::uint32_t buffer) {
  const std::vector<std::uint32_t>& ops = graph_.touched[buffer];
  std::uint32_t& at = next_touch_[buffer];
  while (at < ops.size() && ops[at] <= op_) ++at;
  return at < ops.size() ? ops[at] : graph_.ops.size();
}

}  // namespace stowage::planner::schedule
