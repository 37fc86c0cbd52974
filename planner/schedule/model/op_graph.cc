#include "planner/schedule/model/op_graph.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

namespace stowage::planner::schedule {
namespace {

class Builder {
 public:
  explicit Builder(const StepLog& log) : log_(log) {}

  Result<OpGraph> build() {
    graph_.copy_lanes = log_.copy_lanes;
    graph_.store_bytes = log_.store_bytes.value();
    add_buffers();
    for (std::uint32_t op = 0; op < log_.trace.ops.size(); ++op) {
      if (Status status = add_op(op); !status) return status.error();
    }
    add_events();
    return std::move(graph_);
  }

 private:
  void add_buffers() {
    for (std::uint32_t index = 0; index < log_.trace.buffers.size(); ++index) {
      const Buffer& buffer = log_.trace.buffers[index];
      graph_.buffers.push_back({buffer.rounded.value(), kNone, log_.stays[index] == Stay::kMayGo,
                                log_.pinned_from[index].value(), buffer.preexisting});
      graph_.buffers.back().survives = buffer.death == kNever;
      graph_.first_value.push_back(value_of({BufferId(index), 0}));
    }
    for (std::uint32_t entry = 0; entry < log_.made.size(); ++entry) name(log_.made[entry], entry);
    std::uint32_t lasting = kLastingEntries;
    for (const LastingBuffer& one : lasting_buffers(log_)) name(one.buffer, lasting++);
    graph_.touched.resize(log_.trace.buffers.size());
  }

  // What no action can name is never offloaded.
  void name(BufferId buffer, std::uint32_t entry) {
    OpGraph::BufferNode& node = graph_.buffers[buffer.value()];
    node.entry = entry;
    if (!log_.copy_ns.empty()) node.copy_ns = log_.copy_ns[buffer.value()];
  }

  std::uint32_t value_of(const Value& value) {
    const std::uint64_t key = (std::uint64_t{value.buffer.value()} << 32u) | value.version;
    const auto [at, fresh] = numbers_.try_emplace(key, static_cast<std::uint32_t>(graph_.values.size()));
    if (fresh) {
      graph_.values.push_back({value.buffer.value(), value.version, kNone, false});
      graph_.readers.emplace_back();
    }
    return at->second;
  }

  Status add_op(std::uint32_t index) {
    const Op& op = log_.trace.ops[index];
    graph_.ops.push_back({static_cast<std::uint32_t>(graph_.uses.size()), op.input_count, op.output_count,
                          op.duration_ns, op.workspace.value(), log_.replay_extra[index].value(),
                          own_ns_[index]});
    for (std::uint32_t i = 0; i < op.input_count + op.output_count; ++i) {
      const std::size_t at = std::size_t{op.first_value} + i;
      const std::uint32_t value = value_of(log_.trace.values[at]);
      graph_.uses.push_back({value, log_.roles[at]});
      touch(graph_.values[value].buffer, index);
      if (i >= op.input_count) {
        if (Status status = note_maker(value, index, log_.roles[at]); !status) return status;
      } else if (OpGraph::feeds(log_.roles[at]) &&
                 (graph_.readers[value].empty() || graph_.readers[value].back() != index)) {
        graph_.readers[value].push_back(index);
      }
    }
    return {};
  }

  void touch(std::uint32_t buffer, std::uint32_t op) {
    std::vector<std::uint32_t>& ops = graph_.touched[buffer];
    if (ops.empty() || ops.back() != op) ops.push_back(op);
  }

  Status note_maker(std::uint32_t value, std::uint32_t op, ValueRole role) {
    OpGraph::ValueNode& node = graph_.values[value];
    const bool fresh = node.version == 0 && !graph_.is_made(node.buffer);
    if (node.maker != kNone || fresh)
      return Error{ErrorCode::kUnplannable, "op " + std::to_string(op) +
                                                " makes a value that is there already; record the iteration "
                                                "again"};
    if (node.version > 0) graph_.buffers[node.buffer].written = true;
    node.maker = op;
    node.recipe = role == ValueRole::kMade;
    return {};
  }

  // At one tick: deaths, births, ends of inner ops, beginnings.
  void add_events() {
    using Kind = OpGraph::EventKind;
    std::vector<std::tuple<std::uint64_t, int, Kind, std::uint32_t>> order;
    for (std::uint32_t index = 0; index < log_.trace.buffers.size(); ++index) {
      const Buffer& buffer = log_.trace.buffers[index];
      if (!buffer.preexisting && !graph_.is_made(index))
        order.emplace_back(buffer.birth.value(), 1, Kind::kBirth, index);
      if (buffer.death != kNever) order.emplace_back(buffer.death.value(), 0, Kind::kDeath, index);
    }
    for (std::uint32_t index = 0; index < log_.trace.ops.size(); ++index) {
      order.emplace_back(log_.trace.ops[index].begin.value(), 3, Kind::kBegin, index);
      order.emplace_back(log_.trace.ops[index].end.value(), 2, Kind::kEnd, index);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [tick, rank, kind, index] : order) graph_.events.push_back({kind, index});
  }

  const StepLog& log_;
  const std::vector<std::uint64_t> own_ns_{own_ns(log_)};
  OpGraph graph_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

}  // namespace

Result<OpGraph> make_op_graph(const StepLog& log) {
  if (Status status = log.validate(); !status) return status.error();
  return Builder(log).build();
}

}  // namespace stowage::planner::schedule
