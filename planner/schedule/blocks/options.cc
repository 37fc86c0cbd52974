#include "planner/schedule/blocks/options.h"

#include <algorithm>
#include <utility>

#include "planner/schedule/blocks/option_program.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kLevels = 8;

std::uint64_t cost_of(const Block& block, const std::vector<bool>& runs) {
  std::uint64_t sum = 0;
  for (std::size_t op = 0; op < runs.size(); ++op) sum += runs[op] ? block.ops[op].cost_ns : 0;
  return sum;
}

std::uint64_t own_ns_of(const Block& block, const std::vector<bool>& kept) {
  std::vector<bool> runs(block.ops.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) continue;
    for (const std::uint32_t op : block.items[i].ops) runs[op] = true;
  }
  return cost_of(block, runs);
}

// What the border is made from that is dropped, too, is made with it.
std::uint64_t path_ns_of(const Block& block, const std::vector<bool>& kept) {
  std::vector<bool> runs(block.ops.size()), wanted(kept.size());
  for (std::size_t i = kept.size(); i-- > 0;) {
    const BlockItem& item = block.items[i];
    if (!wanted[i] && (!item.border || item.stays)) continue;
    for (const std::uint32_t op : item.ops) runs[op] = true;
    for (const std::uint32_t below : item.from) wanted[below] = wanted[below] || !kept[below];
  }
  return cost_of(block, runs);
}

// Drops what costs least for its bytes, one after the other, until `least` bytes are.
std::vector<bool> greedy_choice(const Block& block, std::uint64_t least) {
  std::vector<bool> kept(block.items.size(), true), runs(block.ops.size());
  std::uint64_t dropped = 0;
  const auto more_of = [&](std::size_t i) {
    std::uint64_t more = 0;
    for (const std::uint32_t op : block.items[i].ops) more += runs[op] ? 0 : block.ops[op].cost_ns;
    return more;
  };
  while (dropped < least) {
    std::size_t best = kept.size();
    double least_score = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const BlockItem& item = block.items[i];
      if (!kept[i] || !item.may_be_dropped()) continue;
      const double score = static_cast<double>(more_of(i)) / static_cast<double>(item.bytes);
      if (best != kept.size() && score >= least_score) continue;
      best = i;
      least_score = score;
    }
    if (best == kept.size()) break;
    kept[best] = false;
    dropped += block.items[best].bytes;
    for (const std::uint32_t op : block.items[best].ops) runs[op] = true;
  }
  return kept;
}

// Keeps again what the amount does without, the dearest first.
void repair(const Block& block, std::uint64_t least, std::vector<bool>& kept) {
  std::uint64_t dropped = option_with(block, kept).dropped;
  while (true) {
    std::size_t best = kept.size();
    std::uint64_t least_ns = own_ns_of(block, kept);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] || dropped - block.items[i].bytes < least) continue;
      kept[i] = true;
      const std::uint64_t ns = own_ns_of(block, kept);
      kept[i] = false;
      if (ns >= least_ns) continue;
      least_ns = ns;
      best = i;
    }
    if (best == kept.size()) return;
    kept[best] = true;
    dropped -= block.items[best].bytes;
  }
}

BlockOption cheapest(const Block& block, std::uint64_t least) {
  std::vector<bool> kept = greedy_choice(block, least);
  repair(block, least, kept);
  BlockOption option = option_with(block, std::move(kept));
  std::optional<std::vector<bool>> cheaper = cheaper_choice(block, least, option.own_ns);
  if (!cheaper) return option;
  BlockOption other = option_with(block, *std::move(cheaper));
  return other.dropped >= least && other.own_ns < option.own_ns ? other : option;
}

}  // namespace

BlockOption option_with(const Block& block, std::vector<bool> kept) {
  BlockOption option;
  for (std::size_t i = 0; i < kept.size(); ++i) option.dropped += kept[i] ? 0 : block.items[i].bytes;
  option.own_ns = own_ns_of(block, kept);
  option.path_ns = path_ns_of(block, kept);
  option.kept = std::move(kept);
  return option;
}

std::vector<BlockOption> options_of(const Block& block) {
  std::uint64_t all = 0;
  for (const BlockItem& item : block.items) all += item.may_be_dropped() ? item.bytes : 0;
  std::vector<BlockOption> options{option_with(block, std::vector<bool>(block.items.size(), true))};
  for (std::uint64_t level = 1; level <= kLevels && all > 0; ++level) {
    BlockOption option = cheapest(block, all / kLevels * level + (level == kLevels ? all % kLevels : 0));
    while (option.own_ns <= options.back().own_ns && options.size() > 1) options.pop_back();
    if (option.dropped > options.back().dropped) options.push_back(std::move(option));
  }
  return options;
}

}  // namespace stowage::planner::schedule
