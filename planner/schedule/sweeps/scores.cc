#include "planner/schedule/sweeps/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/support/mix.h"

namespace stowage::planner::schedule {
namespace {

constexpr double kPartOfTime = 0.05;  // that a gap's time has in what it is worth by prices
constexpr double kAllOfGap = std::numeric_limits<double>::infinity();
constexpr std::size_t kManyValues = 64;  // looked at for one score; beyond, the score is a guess

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
  double clock = 0;
  for (const OpGraph::OpNode& op : graph.ops)
    clock_.push_back(clock += static_cast<double>(op.cost_ns + kReplayNs));
  if (weights.prices != nullptr) add_prices();
}

// Where nothing is short of room a gap is worth a little, too: the prices are those of a bound.
void Scores::add_prices() {
  const double all = std::accumulate(weights_.prices->begin(), weights_.prices->end(), 0.0);
  const double of_time = kPartOfTime * all / clock_.back();
  double before = 0;
  for (std::size_t op = 0; op < clock_.size(); ++op) {
    worth_.push_back(before + of_time * clock_[op]);
    before += (*weights_.prices)[op];
  }
}

std::optional<Scores::Best> Scores::of(std::uint32_t buffer, std::uint32_t op, bool may_evict,
                                       bool may_offload) {
  if (!may_evict && !may_offload) return std::nullopt;
  op_ = op;
  const double gap = gap_of(buffer);
  std::optional<Best> best;
  if (may_evict) best = Best{score_of(buffer, runs_of(buffer), gap), ActionKind::kEvict};
  if (!may_offload) return best;
  const Copies copies = copies_of(buffer);
  const double score = score_of(buffer, copies.cost_ns, std::min(gap, copies.gap));
  if (!best || score < best->score) best = Best{score, ActionKind::kOffload};
  return best;
}

double Scores::score_of(std::uint32_t buffer, std::uint64_t cost_ns, double gap) const {
  const auto bytes = static_cast<double>(graph_.buffers[buffer].bytes);
  const double jitter =
      weights_.noise == 0
          ? 1
          : 1 + weights_.noise * static_cast<double>(mix(weights_.seed + mix(buffer)) >> 40u) / (1u << 24u);
  return jitter * raised(static_cast<double>(cost_ns), weights_.cost_power) /
         (raised(bytes, weights_.bytes_power) * raised(gap, weights_.gap_power));
}

std::uint64_t Scores::runs_of(std::uint32_t buffer) {
  const std::uint32_t value = model_.current(buffer);
  const std::uint64_t runs = cost_of(value);
  if (!weights_.shared) return runs;
  return std::max<std::uint64_t>(1, runs / graph_.ops[graph_.values[value].maker].outputs);
}

// What was written so late that the copy there cannot be hidden could leave later for less.
Scores::Copies Scores::copies_of(std::uint32_t buffer) const {
  const std::uint64_t one = graph_.buffers[buffer].copy_ns, copies = model_.copies_ns_of(buffer);
  const std::uint64_t ops = model_.queue().now() - model_.queue().waited();
  if (!weights_.always && model_.copy_ns() + copies > ops) return {copies, kAllOfGap};
  const auto least = static_cast<std::uint64_t>(weights_.copies * static_cast<double>(copies));
  if (!run_beside_ops(graph_.copy_lanes) || copies == one) return {least, kAllOfGap};
  const std::uint32_t maker = graph_.values[model_.current(buffer)].maker;
  const double done = (maker == kNone ? 0 : clock_[maker]) + static_cast<double>(one);
  if (done <= clock_[op_]) return {least, kAllOfGap};
  const auto hidden = std::lower_bound(clock_.begin(), clock_.end(), done) - clock_.begin();
  const auto wait = static_cast<std::uint64_t>(done - clock_[op_]);
  return {std::max(least, wait), worth_of(static_cast<std::uint64_t>(hidden)) - worth_of(op_) + least_gap()};
}

// Until it is needed next; what lasts, in the next iteration.
double Scores::gap_of(std::uint32_t buffer) {
  const std::uint64_t need = next_need(model_.current(buffer));
  const bool is_next = need >= graph_.ops.size() && graph_.buffers[buffer].lasts();
  const double more = is_next ? worth_of(graph_.touched[buffer].front()) : 0;
  return worth_of(need) + more - worth_of(op_) + least_gap();
}

// Of the ops before `op`.
double Scores::worth_of(std::uint64_t op) const {
  const std::vector<double>& worth = worth_.empty() ? clock_ : worth_;
  return op < worth.size() ? worth[op] : worth.back();
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
