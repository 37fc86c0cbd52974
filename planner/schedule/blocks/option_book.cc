#include "planner/schedule/blocks/option_book.h"

#include <utility>

namespace stowage::planner::schedule {
namespace {

std::vector<std::uint64_t> structure_of(const Block& block) {
  std::vector<std::uint64_t> numbers{block.ops.size()};
  const auto put = [&](const std::vector<std::uint32_t>& list) {
    numbers.push_back(list.size());
    numbers.insert(numbers.end(), list.begin(), list.end());
  };
  for (const BlockItem& item : block.items) {
    numbers.push_back(item.bytes);
    numbers.push_back((item.border ? 1u : 0u) + (item.stays ? 2u : 0u));
    put(item.ops);
    put(item.from);
  }
  return numbers;
}

}  // namespace

std::vector<BlockOption> OptionBook::options_for(const Block& block) {
  const auto [entry, is_new] = kept_.try_emplace(structure_of(block));
  std::vector<BlockOption> options;
  if (is_new) {
    options = options_of(block);
    for (const BlockOption& option : options) entry->second.push_back(option.kept);
    return options;
  }
  for (const std::vector<bool>& kept : entry->second) options.push_back(option_with(block, kept));
  return options;
}

}  // namespace stowage::planner::schedule
