#include "plugin/cpu/block_cache.h"

#include <iterator>

namespace stowage::plugin {
namespace {

constexpr std::size_t kSmallest = std::size_t{128} << 10;  // smaller ones stay in the heap
constexpr std::size_t kMost = 512;                         // blocks
constexpr std::size_t kSlackShare = 16;  // a block may be larger than asked for by this part

}  // namespace

BlockCache::BlockCache() { blocks_.reserve(kMost); }

void* BlockCache::take(std::size_t bytes) noexcept {
  if (bytes < kSmallest) return nullptr;
  const std::lock_guard lock(mutex_);
  for (std::size_t at = blocks_.size(); at-- > 0;) {
    if (blocks_[at].bytes >= bytes && blocks_[at].bytes - bytes <= bytes / kSlackShare) return remove(at);
  }
  return nullptr;
}

bool BlockCache::keep(void* address, std::size_t bytes, std::size_t counted) noexcept {
  if (bytes < kSmallest) return false;
  const std::lock_guard lock(mutex_);
  if (blocks_.size() == kMost) return false;
  blocks_.push_back({address, bytes, counted});
  counted_ += counted;
  return true;
}

void* BlockCache::oldest() noexcept {
  const std::lock_guard lock(mutex_);
  return blocks_.empty() ? nullptr : remove(0);
}

Bytes BlockCache::counted() const noexcept {
  const std::lock_guard lock(mutex_);
  return Bytes(counted_);
}

void* BlockCache::remove(std::size_t at) noexcept {
  void* const address = blocks_[at].address;
  counted_ -= blocks_[at].counted;
  blocks_.erase(std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(at)));
  return address;
}

}  // namespace stowage::plugin
