#include "allocator/model/caching_model.h"

#include <iterator>

#include "core/support/check.h"

namespace stowage::allocator {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kSmallRequest = kMiB;
constexpr std::uint64_t kSmallSegment = 2 * kMiB;
constexpr std::uint64_t kLargeRequest = 10 * kMiB;
constexpr std::uint64_t kLargeSegment = 20 * kMiB;
constexpr std::uint64_t kSegmentGap = 1ull << 44;  // segments are never neighbours of each other

std::uint64_t round_to(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

std::uint64_t segment_bytes(std::uint64_t bytes, bool small) {
  if (small) return kSmallSegment;
  return bytes < kLargeRequest ? kLargeSegment : round_to(bytes, kSmallSegment);
}

}  // namespace

std::uint64_t CachingModel::allocate(Bytes rounded, StreamId stream) {
  STOWAGE_CHECK(rounded.value() > 0, "the model serves requests of at least one byte");
  const std::uint64_t bytes = rounded.value();
  const Pool pool{stream.value(), bytes <= kSmallRequest};
  auto block = find_free(bytes, pool);
  if (block == blocks_.end()) {
    block = segments_ == Segments::kFixed ? add_segment(bytes, pool) : extend_range(bytes, pool);
  }
  set_taken(block);
  split(block, bytes);
  return block->first;
}

bool CachingModel::is_free_neighbour(const Blocks::value_type& low, const Blocks::value_type& high) {
  return !low.second.live && low.first + low.second.bytes == high.first &&
         low.second.segment == high.second.segment;
}

void CachingModel::free(std::uint64_t address) {
  auto block = blocks_.find(address);
  STOWAGE_CHECK(block != blocks_.end() && block->second.live, "freed an address that is not live");
  block->second.live = false;
  block = merge_with_next(block);
  if (block != blocks_.begin() && is_free_neighbour(*std::prev(block), *block)) {
    auto before = std::prev(block);
    set_taken(before);
    before->second.live = false;
    block = merge_with_next(before);
  }
  set_free(block);
}

CachingModel::Blocks::iterator CachingModel::add_segment(std::uint64_t bytes, Pool pool) {
  const std::uint64_t size = segment_bytes(bytes, pool.small);
  const std::uint64_t address = ++next_segment_ * kSegmentGap;
  reserved_ += Bytes(size);
  auto block = blocks_.emplace(address, Block{size, pool, next_segment_, false}).first;
  set_free(block);
  return block;
}

CachingModel::Blocks::iterator CachingModel::extend_range(std::uint64_t bytes, Pool pool) {
  auto [entry, added] = range_end_.try_emplace(pool, 0);
  if (added) entry->second = ++next_segment_ * kSegmentGap;
  std::uint64_t& end = entry->second;
  const std::uint64_t page = pool.small ? kSmallSegment : kLargeSegment;
  auto last = blocks_.lower_bound(end);
  const bool tail_free = last != blocks_.begin() && std::prev(last)->second.pool == pool &&
                         std::prev(last)->first + std::prev(last)->second.bytes == end &&
                         !std::prev(last)->second.live;
  const std::uint64_t have = tail_free ? std::prev(last)->second.bytes : 0;
  const std::uint64_t grown = round_to(bytes - have, page);
  auto block = blocks_.emplace(end, Block{grown, pool, end / kSegmentGap, false}).first;
  end += grown;
  reserved_ += Bytes(grown);
  if (tail_free) {
    set_taken(std::prev(block));
    block = std::prev(block);
    block->second.live = false;
    block = merge_with_next(block);
  }
  set_free(block);
  return block;
}

CachingModel::Blocks::iterator CachingModel::find_free(std::uint64_t bytes, Pool pool) {
  const auto is_of_pool = [&](auto key) { return key != free_.end() && std::get<0>(*key) == pool; };
  auto found = free_.lower_bound({pool, bytes, 0});
  if (!is_of_pool(found)) return blocks_.end();
  if (can_grow(*found) && is_of_pool(std::next(found))) ++found;
  return blocks_.find(std::get<2>(*found));
}

bool CachingModel::can_grow(const FreeKey& block) const {
  const auto& [pool, bytes, address] = block;
  const auto end = range_end_.find(pool);
  return end != range_end_.end() && address + bytes == end->second;
}

void CachingModel::split(Blocks::iterator block, std::uint64_t bytes) {
  const std::uint64_t rest = block->second.bytes - bytes;
  const bool splits_any = block->second.pool.small || segments_ == Segments::kExpandable;
  if (splits_any ? rest < kGranule.value() : rest <= kSmallRequest) return;
  auto remainder = block->second;
  remainder.bytes = rest;
  remainder.live = false;
  block->second.bytes = bytes;
  set_free(blocks_.emplace(block->first + bytes, remainder).first);
}

CachingModel::Blocks::iterator CachingModel::merge_with_next(Blocks::iterator block) {
  auto next = std::next(block);
  if (next == blocks_.end() || next->second.live || !is_free_neighbour(*block, *next)) return block;
  free_.erase({next->second.pool, next->second.bytes, next->first});
  block->second.bytes += next->second.bytes;
  blocks_.erase(next);
  return block;
}

void CachingModel::set_free(Blocks::iterator block) {
  block->second.live = false;
  free_.insert({block->second.pool, block->second.bytes, block->first});
}

void CachingModel::set_taken(Blocks::iterator block) {
  free_.erase({block->second.pool, block->second.bytes, block->first});
  block->second.live = true;
}

}  // namespace stowage::allocator
