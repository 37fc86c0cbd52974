#include "planner/schedule/blocks/block_plan.h"

#include <algorithm>

#include "planner/schedule/blocks/option_book.h"

namespace stowage::planner::schedule {

BlockPlan::BlockPlan(const OpGraph& graph, const std::vector<std::uint64_t>& needed, std::uint64_t smallest)
    : graph_(graph),
      needed_(needed),
      neediest_(neediest_op(graph)),
      held_(held_over(graph, neediest_, smallest)),
      blocks_(cut_into_blocks(graph, held_, neediest_)) {
  OptionBook book;
  for (const Block& block : blocks_) {
    std::uint64_t border = 0;
    for (const BlockItem& item : block.items) border += item.border && !item.stays ? item.bytes : 0;
    problem_.border.push_back(border);
    problem_.options.push_back(book.options_for(block));
  }
  for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const OpGraph::BufferNode& node = graph.buffers[buffer];
    if (node.lasts() && node.copy_ns > 0 && graph.touched[buffer].front() > neediest_)
      late_.push_back(buffer);
  }
  std::ranges::stable_sort(late_, std::greater<>(),
                           [&](std::uint32_t buffer) { return graph.touched[buffer].front(); });
}

std::uint32_t BlockPlan::wanted(const Block& block) const {
  auto first = static_cast<std::uint32_t>(graph_.ops.size());
  for (const BlockItem& item : block.items) first = std::min(first, held_[item.held].wanted);
  return first;
}

std::uint64_t BlockPlan::excess(std::uint32_t begin, std::uint32_t end, std::uint64_t room) const {
  if (begin >= end) return 0;
  const std::uint64_t most = *std::max_element(needed_.begin() + begin, needed_.begin() + end);
  return most - std::min(most, room);
}

// Backward ops are those from the first one that uses something of a block on, until those of the block
// before begin. No more is asked for than all options together can drop: the rest has to come from what is no
// block's.
void BlockPlan::note_needs(ChainProblem& problem, std::uint64_t room) const {
  std::uint32_t end = 0;
  for (const BlockItem& item : blocks_.front().items)
    end = std::max(end, graph_.touched[held_[item.held].buffer].back() + 1);
  std::uint64_t possible = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const std::uint32_t next = b + 1 < blocks_.size() ? made(blocks_[b + 1]) : neediest_;
    const std::uint64_t all = problem.options[b].back().dropped;
    const auto own = static_cast<std::uint64_t>(problem.own_part * static_cast<double>(all));
    problem.needs.push_back({std::min(possible, excess(made(blocks_[b]), next, room)),
                             std::min(possible + own, excess(wanted(blocks_[b]), end, room))});
    end = std::min(end, wanted(blocks_[b]));
    possible += all - all / 32;  // they are counted in units, rounded down
  }
}

void BlockPlan::offload_late(std::uint64_t bytes, std::vector<Step>& steps) const {
  for (const std::uint32_t buffer : late_) {
    if (bytes < graph_.buffers[buffer].bytes) return;
    bytes -= graph_.buffers[buffer].bytes;
    steps.push_back({0, ActionKind::kOffload, buffer});
  }
}

std::optional<std::vector<Step>> BlockPlan::actions(std::uint64_t budget, std::uint64_t elsewhere,
                                                    double own_part) const {
  if (blocks_.empty()) return std::nullopt;
  ChainProblem problem = problem_;
  problem.own_part = own_part;
  problem.dropped = excess(neediest_, neediest_ + 1, budget + elsewhere);
  note_needs(problem, budget + elsewhere);
  const std::optional<std::vector<Choice>> choices = choose_options(problem);
  if (!choices) return std::nullopt;
  std::vector<Step> steps;
  offload_late(elsewhere, steps);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Choice& choice = (*choices)[b];
    const std::vector<bool>& kept = problem.options[b][choice.option].kept;
    for (std::size_t i = 0; i < blocks_[b].items.size(); ++i) {
      const BlockItem& item = blocks_[b].items[i];
      if (item.stays || (item.border ? choice.keeps_border : kept[i])) continue;
      steps.push_back({held_[item.held].idle_from, ActionKind::kEvict, held_[item.held].buffer});
    }
  }
  std::ranges::stable_sort(steps, {}, &Step::op);
  return steps;
}

}  // namespace stowage::planner::schedule
