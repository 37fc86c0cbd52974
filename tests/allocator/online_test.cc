// An arena that is served online: requests get room wherever they fit best, nothing overlaps, and memory
// comes and goes by segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "allocator/arena/fault_backend.h"
#include "allocator/online/online_pool.h"
#include "allocator/planned_allocator.h"

namespace stowage::allocator {
namespace {

constexpr StreamId kStream{0};
constexpr std::uint64_t kSegment = std::uint64_t{2} << 20;
constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

struct Online : testing::Test {
  explicit Online(Bytes reserved = Bytes(256 * kSegment)) {
    auto arena =
        make_arena(FaultBackend(FakeAddressBackend(), faults), reserved, Bytes(kSegment), Backing::kInPages);
    allocator = std::make_unique<PlannedAllocator>(std::move(arena).value(), std::vector<Plan>());
    allocator->serve_online(Bytes(0));
  }
  void* take(std::uint64_t bytes, std::uint32_t stream = 0) {
    return allocator->allocate(Bytes(bytes), StreamId(stream));
  }
  std::uint64_t offset(const void* address) const {
    return static_cast<std::uint64_t>(static_cast<const char*>(address) -
                                      static_cast<const char*>(allocator->arena().base()));
  }

  std::shared_ptr<FaultSwitch> faults = std::make_shared<FaultSwitch>();
  std::unique_ptr<PlannedAllocator> allocator;
};

TEST_F(Online, TakesTheTightestHoleAndOfEqualOnesTheLowest) {
  std::vector<void*> blocks;
  for (const std::uint64_t mib : {4, 2, 3, 2, 2, 2, 5}) blocks.push_back(take(mib * kMib));
  const std::vector<void*> at = blocks;
  for (const std::size_t i : {0u, 2u, 5u}) allocator->free(blocks[i]);
  EXPECT_EQ(take(2 * kMib), at[5]);
  EXPECT_EQ(take(3 * kMib), at[2]);
  allocator->free(at[3]);
  allocator->free(at[1]);
  EXPECT_EQ(take(2 * kMib), at[3]) << "the lower one has merged with the hole before it";
  EXPECT_EQ(take(6 * kMib), at[0]);
}

TEST_F(Online, SmallAndLargeRequestsAndStreamsShareNoSegment) {
  const auto segment = [&](void* address) { return offset(address) / kSegment; };
  const std::vector<std::uint64_t> segments = {segment(take(512)), segment(take(2 * kMib)),
                                               segment(take(512, 1)), segment(take(2 * kMib, 1))};
  for (std::size_t i = 0; i < segments.size(); ++i)
    EXPECT_EQ(std::count(segments.begin(), segments.end(), segments[i]), 1);
  EXPECT_EQ(segment(take(4096)), segments[0]);
  EXPECT_NE(segment(take(4097)), segments[0]);
}

TEST_F(Online, WhatIsFreedServesItsOwnStreamAlone) {
  void* const first = take(4 * kMib, 1);
  allocator->free(first);
  EXPECT_NE(take(4 * kMib, 2), first);
  EXPECT_EQ(take(4 * kMib, 1), first);
}

TEST_F(Online, TakesMemoryAsItGrowsAndNoMore) {
  EXPECT_EQ(allocator->committed_bytes(), Bytes(0));
  EXPECT_EQ(allocator->lacking(Bytes(5 * kMib), kStream), Bytes(3 * kSegment));
  void* const block = take(5 * kMib);
  EXPECT_EQ(allocator->committed_bytes(), Bytes(3 * kSegment));
  EXPECT_EQ(faults->mapped, allocator->committed_bytes());
  EXPECT_EQ(allocator->lacking(Bytes(kMib + 512), kStream), Bytes(kSegment));
  EXPECT_EQ(allocator->lacking(Bytes(3 * kMib), kStream), Bytes(kSegment));
  allocator->free(block);
  EXPECT_EQ(allocator->lacking(Bytes(6 * kMib), kStream), Bytes(0));
  EXPECT_EQ(allocator->lacking(Bytes(7 * kMib), kStream), Bytes(kSegment)) << "the hole at the end grows";
  EXPECT_EQ(take(7 * kMib), block);
  EXPECT_EQ(allocator->committed_bytes(), Bytes(4 * kSegment));
}

TEST_F(Online, IdleMemoryGoesBackAndComesAgain) {
  void* const low = take(4 * kMib);
  void* const middle = take(2 * kMib);
  void* const high = take(4 * kMib);
  allocator->free(low);
  allocator->free(high);
  EXPECT_EQ(allocator->pinned_bytes({}), Bytes(kSegment));
  EXPECT_EQ(allocator->pinned_bytes({offset(middle)}), Bytes(0));
  EXPECT_EQ(allocator->decommit_idle(Offset(0), Bytes(kSegment)), Bytes(kSegment)) << "the highest first";
  EXPECT_EQ(take(4 * kMib), low) << "the hole that has memory";
  allocator->free(low);
  EXPECT_EQ(allocator->decommit_idle(), Bytes(3 * kSegment));
  EXPECT_EQ(faults->mapped, Bytes(kSegment));
  EXPECT_EQ(take(4 * kMib), low);
  EXPECT_EQ(take(4 * kMib), high);
  EXPECT_EQ(faults->mapped, Bytes(5 * kSegment));
  EXPECT_EQ(allocator->decommit_idle(), Bytes(0));
}

TEST_F(Online, AHoleWithMemoryIsPreferredToATighterOneWithout) {
  void* const tight = take(4 * kMib);
  static_cast<void>(take(2 * kMib));
  allocator->free(tight);
  EXPECT_EQ(allocator->decommit_idle(), Bytes(2 * kSegment));
  void* const wide = take(8 * kMib);
  static_cast<void>(take(6 * kMib));
  allocator->free(wide);
  EXPECT_EQ(take(4 * kMib), wide);
  EXPECT_EQ(take(4 * kMib), static_cast<char*>(wide) + 4 * kMib);
  EXPECT_EQ(take(4 * kMib), tight) << "and a hole without it to growing";
}

TEST_F(Online, RequestsWithoutMemoryAreMisses) {
  void* const block = take(2 * kMib);
  faults->maps_left = 0;
  EXPECT_EQ(take(2 * kMib), nullptr);
  faults->maps_left = FaultSwitch::kNeverFail;
  EXPECT_EQ(take(2 * kMib), nullptr) << "the device was full, until the next mark";
  allocator->on_mark();
  EXPECT_NE(take(2 * kMib), nullptr);
  allocator->hold_back(true);
  EXPECT_EQ(take(2 * kMib), nullptr);
  allocator->free(block);
  EXPECT_EQ(take(2 * kMib), block) << "it takes no memory";
  allocator->hold_back(false);
  EXPECT_NE(take(2 * kMib), nullptr);
  EXPECT_EQ(take(600 * kMib), nullptr) << "more than the arena reserves";
  const ServeCounts counts = allocator->counts();
  EXPECT_EQ(counts.online, 4u);
  EXPECT_EQ(counts.hits, 0u);
  EXPECT_EQ(counts.misses[static_cast<std::size_t>(Miss::kSlotInUse)], 4u);
  EXPECT_EQ(counts.served_bytes, 8 * kMib);
}

/// An arena that can grow to little more than it has.
struct NarrowOnline : Online {
  NarrowOnline() : Online(Bytes(40 * kSegment)) {}
};

TEST_F(NarrowOnline, FewerAddressesAreEnough) {
  std::vector<void*> blocks;
  for (int i = 0; i < 60; ++i) {
    void* const block = take(kMib + 512, static_cast<std::uint32_t>(i % 3));
    if (block != nullptr) blocks.push_back(block);
  }
  EXPECT_GE(blocks.size(), 20u);
  EXPECT_NE(take(600), nullptr);
  for (void* block : blocks) allocator->free(block);
  EXPECT_NE(take(8 * kMib), nullptr);
}

TEST_F(Online, HeldBlocksStayUntilTheyAreReleased) {
  void* const block = take(2 * kMib);
  allocator->hold(block);
  EXPECT_TRUE(allocator->try_free(block));
  EXPECT_FALSE(allocator->try_free(block));
  EXPECT_FALSE(allocator->block_at(block));
  ASSERT_EQ(allocator->active_blocks().size(), 1u);
  EXPECT_TRUE(allocator->active_blocks().front().waiting);
  EXPECT_NE(take(2 * kMib), block);
  allocator->release(block);
  EXPECT_EQ(take(2 * kMib), block);
  EXPECT_EQ(allocator->size_of(block), Bytes(2 * kMib));
}

TEST_F(Online, AgesAreCountedInIterations) {
  void* const old = take(512);
  for (int i = 0; i < 300; ++i) allocator->on_mark();
  void* const young = take(512);
  allocator->on_mark();
  EXPECT_EQ(allocator->block_at(old)->age, 128);
  EXPECT_EQ(allocator->block_at(young)->age, 1);
  EXPECT_EQ(allocator->counts().iterations, 301u);
}

TEST_F(Online, IsClosedByReplacingItsPlans) {
  void* const block = take(512);
  Plan plan;
  plan.entries.push_back({Bytes(512), kStream, Offset(0), kUpstream});
  plan.height = Bytes(512);
  EXPECT_FALSE(allocator->add_plan(plan).ok());
  EXPECT_FALSE(allocator->replace_plans({plan}).ok());
  EXPECT_NE(take(512), nullptr);
  EXPECT_TRUE(allocator->replace_plans({}).ok());
  EXPECT_EQ(take(512), nullptr);
  allocator->free(block);
}

/// A job of random requests, held against what a list of all live blocks says.
struct OnlineFuzz : Online {
  struct Block {
    void* address;
    std::uint64_t bytes;
    std::uint32_t stream;
  };
  void allocate() {
    const std::uint64_t bytes = random() % 3 == 0 ? 1 + random() % (8 * kMib) : 1 + random() % 9000;
    const auto stream = static_cast<std::uint32_t>(random() % 7 == 0 ? 1 + random() % 2 : 0);
    void* const address = take(bytes, stream);
    if (address == nullptr) return;
    const std::uint64_t begin = offset(address), end = begin + round_up(Bytes(bytes)).value();
    const auto after = live.lower_bound(begin);
    EXPECT_TRUE(after == live.end() || after->first >= end);
    if (after != live.begin()) {
      const auto& [at, before] = *std::prev(after);
      EXPECT_LE(at + round_up(Bytes(before.bytes)).value(), begin);
    }
    for (std::uint64_t at = begin / kSegment; at <= (end - 1) / kSegment; ++at)
      EXPECT_EQ(streams.emplace(at, stream).first->second, stream) << "a segment changed its stream";
    live.emplace(begin, Block{address, bytes, stream});
    sum += round_up(Bytes(bytes)).value();
  }
  void free_any() {
    if (live.empty()) return;
    const auto at = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
    sum -= round_up(Bytes(at->second.bytes)).value();
    EXPECT_TRUE(allocator->try_free(at->second.address));
    live.erase(at);
  }
  void check() {
    EXPECT_EQ(allocator->live_bytes(), Bytes(sum));
    const std::vector<ArenaBlock> blocks = allocator->active_blocks();
    ASSERT_EQ(blocks.size(), live.size());
    std::size_t i = 0;
    for (const auto& [begin, block] : live) {
      EXPECT_EQ(blocks[i].offset, Offset(begin));
      EXPECT_EQ(blocks[i].requested, Bytes(block.bytes));
      EXPECT_EQ(blocks[i++].stream, StreamId(block.stream));
    }
    EXPECT_EQ(faults->mapped, allocator->committed_bytes());
    EXPECT_LE(allocator->pinned_bytes({}), allocator->committed_bytes());
  }
  void run(unsigned seed) {
    random.seed(seed);
    for (int i = 0; i < 4000; ++i) {
      random() % 100 < (i / 500 % 2 == 0 ? 60u : 40u) ? allocate() : free_any();
      if (random() % 300 == 0) {
        const Bytes idle = allocator->committed_bytes() - allocator->pinned_bytes({});
        EXPECT_EQ(allocator->decommit_idle(), idle) << "exactly what nothing lies in";
      }
      if (random() % 400 == 0) faults->map_limit = Bytes((1 + random() % 200) * kSegment);
      if (random() % 50 == 0) allocator->on_mark();
      if (i % 200 == 0) check();
    }
    while (!live.empty()) free_any();
    allocator->decommit_idle();
    EXPECT_EQ(faults->mapped, Bytes(0));
    EXPECT_EQ(allocator->live_bytes(), Bytes(0));
  }

  std::minstd_rand random;
  std::map<std::uint64_t, Block> live;             // by offset
  std::map<std::uint64_t, std::uint32_t> streams;  // by segment
  std::uint64_t sum = 0;
};

TEST_F(OnlineFuzz, NothingOverlapsAndEverythingIsCounted) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    run(seed);
    if (HasFailure()) return;
  }
}

/// A pool against the plainest best fit there is; what ends where the pool ends serves when nothing else
/// does.
TEST(OnlinePool, AgreesWithASearchOfAllHoles) {
  std::minstd_rand random(7);
  OnlinePool pool;
  std::map<std::uint64_t, std::uint64_t> holes;  // begin → end
  std::vector<OnlineBlock*> taken;
  std::uint64_t end = 0;
  const auto naive = [&](std::uint64_t bytes) {
    auto best = holes.end();
    for (auto at = holes.begin(); at != holes.end(); ++at) {
      const std::uint64_t size = at->second - at->first;
      if (at->second != end && size >= bytes && (best == holes.end() || size < best->second - best->first))
        best = at;
    }
    return best;
  };
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % 50;
      auto best = naive(bytes);
      OnlineBlock* hole = pool.tightest(bytes, [](const OnlineBlock&) { return true; });
      ASSERT_EQ(hole == nullptr, best == holes.end());
      if (OnlineBlock* const tail = pool.tail();
          hole == nullptr && tail != nullptr && tail->bytes() >= bytes) {
        hole = tail;
        best = std::prev(holes.end());
      }
      if (hole == nullptr) {
        const std::uint64_t begin = end + (random() % 4 == 0 ? 10 : 0);  // other pools' addresses lie between
        end = begin + 100;
        pool.add(begin, end);
        const auto below =
            std::find_if(holes.begin(), holes.end(), [&](auto& h) { return h.second == begin; });
        (below == holes.end() ? holes[begin] : below->second) = end;
        continue;
      }
      ASSERT_EQ(hole->begin(), best->first);
      const auto [from, to] = *best;
      holes.erase(best);
      if (from + bytes < to) holes[from + bytes] = to;
      pool.prepare();
      OnlineBlock& block = pool.take(*hole, bytes);
      block.owner.requested = Bytes(1);
      ASSERT_EQ(block.bytes(), bytes);
      taken.push_back(&block);
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      OnlineBlock& block = *taken.back();
      taken.pop_back();
      std::uint64_t from = block.begin(), to = block.end;
      const auto above = holes.find(to);
      if (above != holes.end()) to = above->second, holes.erase(above);
      const auto below = std::find_if(holes.begin(), holes.end(), [&](auto& h) { return h.second == from; });
      if (below != holes.end()) from = below->first;
      holes[from] = to;
      block.owner.requested = Bytes(0);
      pool.give(block);
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> listed;
    if (i % 100 != 0) continue;
    pool.for_blocks([&](const OnlineBlock& block) {
      if (block.is_free()) listed.emplace_back(block.begin(), block.end);
    });
    ASSERT_EQ(listed, (decltype(listed)(holes.begin(), holes.end())));
  }
}

}  // namespace
}  // namespace stowage::allocator
