#include "simulator/device/memory/contents.h"

#include <iterator>

namespace stowage::simulator {

void Contents::remember(std::uintptr_t address, std::uint64_t bytes) {
  forget(address, bytes);
  if (bytes > 0) ranges_.emplace(address, bytes);
}

void Contents::forget(std::uintptr_t address, std::uint64_t bytes) {
  auto range = ranges_.lower_bound(address);
  if (range != ranges_.begin()) {
    const auto before = std::prev(range);
    if (before->first + before->second > address) range = before;
  }
  while (range != ranges_.end() && range->first < address + bytes) range = ranges_.erase(range);
}

bool Contents::knows(std::uintptr_t address, std::uint64_t bytes) const {
  const auto range = ranges_.find(address);
  return range != ranges_.end() && range->second == bytes;
}

}  // namespace stowage::simulator
