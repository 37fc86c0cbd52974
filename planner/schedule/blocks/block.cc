#include "planner/schedule/blocks/block.h"

#include <algorithm>
#include <map>

namespace stowage::planner::schedule {
namespace {

constexpr std::size_t kLeastItems = 3;
constexpr std::size_t kLongestClosure = 64;  // ops; what needs more stays

/// What one held buffer is made from.
struct Closure {
  std::vector<std::uint32_t> ops;   ///< of the graph, ascending
  std::vector<std::uint32_t> from;  ///< held buffers, ascending
  bool stays = false;
};

// Traces closures on a model of the moment when most is needed.
class Tracer {
 public:
  Tracer(const OpGraph& graph, const std::vector<HeldBuffer>& held, std::uint32_t neediest)
      : graph_(graph), model_(model_before(graph, neediest)) {
    for (std::uint32_t i = 0; i < held.size(); ++i) held_of_[held[i].buffer] = i;
  }

  Closure closure_of(const HeldBuffer& one) {
    Closure found;
    const std::uint32_t buffer = one.buffer, value = model_.current(buffer);
    found.stays = !model_.has_recipe(value) || !model_.may_evict(buffer);
    std::vector<std::uint32_t> waiting;
    if (!found.stays) waiting.push_back(graph_.values[value].maker);
    while (!waiting.empty() && !found.stays) {
      const std::uint32_t op = waiting.back();
      waiting.pop_back();
      if (std::ranges::find(found.ops, op) != found.ops.end()) continue;
      found.ops.push_back(op);
      found.stays = found.ops.size() > kLongestClosure;
      for (const OpGraph::Use& use : graph_.inputs(op)) {
        if (OpGraph::feeds(use.role)) follow(use.value, one.wanted, found, waiting);
      }
    }
    sort_once(found.ops);
    sort_once(found.from);
    return found;
  }

 private:
  void follow(std::uint32_t value, std::uint32_t wanted, Closure& found,
              std::vector<std::uint32_t>& waiting) const {
    if (!is_there(value, wanted)) {
      found.stays = found.stays || !model_.has_recipe(value);
      if (!found.stays) waiting.push_back(graph_.values[value].maker);
      return;
    }
    const auto home = held_of_.find(graph_.values[value].buffer);
    if (home != held_of_.end()) found.from.push_back(home->second);
  }

  /// When `op` begins, if it is not evicted. A leaf stays for as long as something evicted starts from it.
  [[nodiscard]] bool is_there(std::uint32_t value, std::uint32_t op) const {
    const std::uint32_t buffer = graph_.values[value].buffer;
    return model_.materialised(value) && (!model_.has_recipe(value) || graph_.buffers[buffer].survives ||
                                          graph_.touched[buffer].back() >= op);
  }

  static void sort_once(std::vector<std::uint32_t>& numbers) {
    std::ranges::sort(numbers);
    const auto [first, last] = std::ranges::unique(numbers);
    numbers.erase(first, last);
  }

  const OpGraph& graph_;
  Model model_;
  std::map<std::uint32_t, std::uint32_t> held_of_;  ///< by buffer
};

/// By held buffer: the last one that starts from it; itself if none does.
std::vector<std::size_t> last_readers(const std::vector<Closure>& closures) {
  std::vector<std::size_t> last(closures.size());
  for (std::size_t i = 0; i < closures.size(); ++i) {
    last[i] = i;
    for (const std::uint32_t below : closures[i].from) last[below] = std::max(last[below], i);
  }
  return last;
}

/// Where blocks begin, and the end.
std::vector<std::size_t> borders_of(const OpGraph& graph, const std::vector<HeldBuffer>& held,
                                    const std::vector<std::size_t>& last) {
  const auto width = [&](std::size_t cut) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < cut; ++i) bytes += last[i] >= cut ? graph.buffers[held[i].buffer].bytes : 0;
    return bytes;
  };
  std::vector<std::size_t> begins{0};
  while (held.size() - begins.back() > kMostItems) {
    std::size_t best = begins.back() + kLeastItems;
    std::uint64_t least = width(best);
    for (std::size_t cut = best + 1; cut <= begins.back() + kMostItems; ++cut) {
      const std::uint64_t bytes = width(cut);
      if (bytes >= least) continue;
      least = bytes;
      best = cut;
    }
    begins.push_back(best);
  }
  if (!held.empty()) begins.push_back(held.size());
  return begins;
}

Block block_of(const OpGraph& graph, const std::vector<HeldBuffer>& held,
               const std::vector<Closure>& closures, const std::vector<std::size_t>& last, std::size_t begin,
               std::size_t end) {
  Block block;
  std::map<std::uint32_t, std::uint32_t> place_of;  // by op of the graph
  for (std::size_t i = begin; i < end; ++i) {
    BlockItem item;
    item.held = static_cast<std::uint32_t>(i);
    item.bytes = graph.buffers[held[i].buffer].bytes;
    item.border = last[i] >= end;
    item.stays = closures[i].stays;
    for (const std::uint32_t op : closures[i].ops) {
      const auto [place, is_new] = place_of.try_emplace(op, static_cast<std::uint32_t>(block.ops.size()));
      if (is_new) block.ops.push_back({op, graph.ops[op].cost_ns + kReplayNs});
      item.ops.push_back(place->second);
    }
    for (const std::uint32_t from : closures[i].from) {
      if (from >= begin && from < i) item.from.push_back(from - static_cast<std::uint32_t>(begin));
    }
    block.items.push_back(std::move(item));
  }
  return block;
}

}  // namespace

std::vector<Block> cut_into_blocks(const OpGraph& graph, const std::vector<HeldBuffer>& held,
                                   std::uint32_t neediest) {
  Tracer tracer(graph, held, neediest);
  std::vector<Closure> closures;
  for (const HeldBuffer& one : held) closures.push_back(tracer.closure_of(one));
  const std::vector<std::size_t> last = last_readers(closures);
  const std::vector<std::size_t> begins = borders_of(graph, held, last);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i)
    blocks.push_back(block_of(graph, held, closures, last, begins[i], begins[i + 1]));
  return blocks;
}

}  // namespace stowage::planner::schedule
