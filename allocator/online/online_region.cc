#include "allocator/online/online_region.h"

#include <algorithm>
#include <new>
#include <utility>

namespace stowage::allocator {
namespace {

constexpr std::uint64_t kGrowth = std::uint64_t{2} << 20;  // bytes; a huge page
// Scalars, biases, indices: what is logged or counted may stay. Larger requests share their room: with
// PyTorch's limit of 1 MiB jobs of random sizes reserve 2 % more.
constexpr Bytes kSmall{4096};
constexpr std::uint64_t kLeastStep = 32 * kGrowth;  // by which a pool gets addresses
constexpr std::uint64_t kRoomy = 4;                 // times the expected need, for addresses
constexpr std::uint64_t kLeastRoom = std::uint64_t{1} << 30;
constexpr int kMostTried = 16;  // holes, where some lack memory

std::uint64_t up(std::uint64_t bytes) { return (bytes + kGrowth - 1) / kGrowth * kGrowth; }

std::size_t pool_index(std::uint64_t bytes, StreamId stream) {
  return 2 * std::size_t{stream.value()} + (bytes > kSmall.value() ? 1 : 0);
}

}  // namespace

// The first pools get an eighth and the rest of it. Fewer addresses are a matter of speed and not of safety.
OnlineRegion::OnlineRegion(Arena& arena, Bytes expected) : memory_(arena) {
  const std::uint64_t most = arena.reserved().value() / 2;
  const std::uint64_t wanted = std::max(kRoomy * std::min(expected.value(), most), kLeastRoom);
  for (std::uint64_t room = std::min(wanted, most) / kGrowth * kGrowth; room >= 16 * kGrowth;
       room = room / 2) {
    if (!memory_.grow(up(room))) continue;
    const std::uint64_t small = memory_.segment_end(room / 8);
    pool_for(kGranule.value(), StreamId(0)).add(0, small);
    pool_for(kSmall.value() + 1, StreamId(0)).add(small, memory_.mapped());
    end_ = memory_.mapped();
    break;
  }
}

OnlinePool& OnlineRegion::pool_for(std::uint64_t bytes, StreamId stream) {
  const std::size_t index = pool_index(bytes, stream);
  if (index >= pools_.size()) pools_.resize(index + 1);
  if (pools_[index] == nullptr) pools_[index] = std::make_unique<OnlinePool>();
  return *pools_[index];
}

// The tightest hole that has memory; else, of some that are hardly larger, the one that needs least. The last
// block can grow, so it counts as larger than all others, as in PyTorch's allocator.
OnlineBlock* OnlineRegion::choose(const OnlinePool& pool, std::uint64_t bytes) const {
  OnlineBlock* const tail = pool.tail();
  OnlineBlock* best = nullptr;
  Bytes least = memory_.is_held_back() ? Bytes(1) : Bytes::max();
  const auto look_at = [&](OnlineBlock& hole) {
    const std::uint64_t end = hole.begin() + bytes;
    const Bytes lacking = memory_.lacking(hole.begin(), end);
    if (lacking >= least || memory_.leaves(hole.begin(), end)) return;
    best = &hole;
    least = lacking;
  };
  int tried = 0;
  static_cast<void>(pool.tightest(bytes, [&](OnlineBlock& hole) {
    look_at(hole);
    return least.value() == 0 || ++tried == kMostTried;
  }));
  if (least.value() != 0 && tail != nullptr && tail->bytes() >= bytes) look_at(*tail);
  return best;
}

// New addresses come in large steps, so that what a pool has is in few pieces. They cost no memory.
OnlineBlock* OnlineRegion::extend(OnlinePool& pool, std::uint64_t bytes) {
  if (memory_.is_held_back()) return nullptr;
  const OnlineBlock* const tail = pool.tail();
  if (tail != nullptr && tail->bytes() >= bytes) return nullptr;  // choose() knows why not
  const bool grows = tail != nullptr && tail->end == end_;
  const std::uint64_t more = up(grows ? bytes - tail->bytes() : bytes);
  if (!memory_.grow(end_ + std::max({more, kLeastStep, up(pool.bytes() / 2)})) && !memory_.grow(end_ + more))
    return nullptr;
  pool.add(end_, memory_.mapped());
  end_ = memory_.mapped();
  return memory_.leaves(pool.tail()->begin(), end_) ? nullptr : pool.tail();
}

Owner* OnlineRegion::take(Bytes requested, StreamId stream) noexcept try {
  if (closed_) return nullptr;
  const std::uint64_t bytes = round_up(requested).value();
  OnlinePool& pool = pool_for(bytes, stream);
  OnlineBlock* hole = choose(pool, bytes);
  if (hole == nullptr) hole = extend(pool, bytes);
  if (hole == nullptr || !memory_.commit(hole->begin(), hole->begin() + bytes)) return nullptr;
  pool.prepare();
  live_.emplace(hole->begin(), hole);
  OnlineBlock& block = pool.take(*hole, bytes);
  block.owner.requested = requested;
  block.owner.stream = stream;
  return &block.owner;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Bytes OnlineRegion::lacking(Bytes requested, StreamId stream) const noexcept {
  const std::uint64_t bytes = round_up(requested).value();
  const std::size_t index = pool_index(bytes, stream);
  if (index >= pools_.size() || pools_[index] == nullptr) return Bytes(up(bytes));
  const OnlinePool& pool = *pools_[index];
  if (const OnlineBlock* const hole = choose(pool, bytes))
    return memory_.lacking(hole->begin(), hole->begin() + bytes);
  const OnlineBlock* const tail = pool.tail();
  if (tail == nullptr || tail->end != end_ || tail->bytes() >= bytes) return Bytes(up(bytes));
  return memory_.lacking(tail->begin(), end_) + Bytes(up(bytes - tail->bytes()));
}

Owner* OnlineRegion::live_at(std::uint64_t offset) const noexcept {
  const auto found = live_.find(offset);
  return found == live_.end() ? nullptr : &found->second->owner;
}

void OnlineRegion::vacate(const Owner& owner) noexcept {
  const auto found = live_.find(owner.offset);
  OnlineBlock& block = *found->second;
  live_.erase(found);
  block.owner.requested = Bytes{0};
  block.owner.holds = 0;
  block.owner.freed = false;
  block.pool->give(block);
}

void OnlineRegion::take_out(Offset from, Bytes most) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> holes;
  for (const auto& pool : pools_) {
    if (pool == nullptr) continue;
    pool->for_blocks([&](const OnlineBlock& block) {
      if (block.is_free()) holes.emplace_back(block.begin(), block.end);
    });
  }
  if (end_ < memory_.mapped()) holes.emplace_back(end_, memory_.mapped());
  std::sort(holes.rbegin(), holes.rend());
  for (const auto& [begin, end] : holes) {
    if (most.value() == 0) return;
    most -= std::min(most, memory_.take_out(begin, end, from.value(), most));
  }
}

Bytes OnlineRegion::pinned(const std::vector<std::uint64_t>& but) const {
  Bytes sum{0};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
  for_live([&](const Owner& owner) {
    if (std::binary_search(but.begin(), but.end(), owner.offset)) return;
    live.emplace_back(owner.offset, owner.offset + owner.rounded().value());
  });
  std::sort(live.begin(), live.end());
  std::uint64_t counted = 0;  // up to here
  for (const auto& [begin, end] : live) {
    const std::uint64_t last = memory_.segment_end(end - 1);
    const std::uint64_t first = std::max(counted, memory_.segment_begin(begin));
    if (last > first) sum += Bytes(last - first);
    counted = std::max(counted, last);
  }
  return sum;
}

}  // namespace stowage::allocator
