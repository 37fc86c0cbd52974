// One million pairs from four threads, checked by ownership stamps that any overlap or lost update would
// break.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/arena/fault_backend.h"
#include "tests/allocator/job_runner.h"

namespace stowage::allocator::testing {
namespace {

constexpr int kThreads = 4;
constexpr int kPairsPerThread = 250'000;

// Each granule of the arena has a stamp: 0, or the thread whose live slot covers it. The stamps are plain
// atomics with relaxed order, so that they order nothing that the allocator should have ordered.
class Stamps {
 public:
  explicit Stamps(const PlannedAllocator& allocator)
      : base_(static_cast<const char*>(allocator.arena().base())),
        stamps_(allocator.arena().reserved().value() / 512) {}

  /// Swaps `from` for `to` in the first and the last granule of a slot. False: somebody else's stamp was
  /// there.
  bool swap(const void* address, std::uint64_t bytes, int from, int to) {
    const auto first = static_cast<std::size_t>(static_cast<const char*>(address) - base_) / 512;
    bool as_expected = stamps_[first].exchange(to, std::memory_order_relaxed) == from;
    if (bytes > 512) {
      as_expected &= stamps_[first + bytes / 512 - 1].exchange(to, std::memory_order_relaxed) == from;
    }
    return as_expected;
  }

 private:
  const char* base_;
  std::vector<std::atomic<int>> stamps_;
};

TEST(Threads, AMillionPairsFromFourThreads) {
  const Job job = gpt_like(4, 2 * 512);
  auto allocator = make_allocator({place(job)});
  Stamps stamps(allocator);
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> clashes{0};
  std::vector<std::thread> threads;
  for (int thread = 1; thread <= kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t hits = 0;
      std::uint64_t bad = 0;
      for (int pair = 0; pair < kPairsPerThread; ++pair) {
        const std::uint64_t bytes = job.bytes[static_cast<std::size_t>(pair) % job.bytes.size()];
        void* const address = allocator.allocate(Bytes(bytes), StreamId(0));
        if (pair % 1024 == 0) allocator.on_mark();
        if (address == nullptr) continue;
        ++hits;
        bad += !stamps.swap(address, bytes, 0, thread);
        bad += !allocator.owns(address) || allocator.size_of(address) != Bytes(bytes);
        if (pair % 7 == 0) allocator.hold(address);
        bad += !stamps.swap(address, bytes, thread, 0);
        allocator.free(address);
        if (pair % 7 == 0) allocator.release(address);
      }
      served += hits;
      refused += kPairsPerThread - hits;
      clashes += bad;
    });
  }
  // Meanwhile plans come and go.
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(allocator.replace_plans({place(job), place(gpt_like(3, 2 * 512))}).ok());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0u);
  EXPECT_EQ(allocator.live_bytes(), Bytes(0));
  const ServeCounts counts = allocator.counts();
  EXPECT_EQ(counts.hits, served);
  EXPECT_EQ(misses(allocator), refused);
  EXPECT_EQ(served + refused, std::uint64_t{kThreads} * kPairsPerThread);
  EXPECT_GT(served, 0u);
}

// One thread's job follows the plan while another frees what it passes on, as autograd and data loaders do.
TEST(Threads, FreesFromAnotherThread) {
  const Job job = gpt_like(8);
  Plan plan = place(job);
  for (std::size_t i = 0, at = 0; i < plan.entries.size(); at += job.bytes[i++]) {
    plan.entries[i].offset = Offset(at);  // side by side: late frees are in nobody's way within an iteration
    plan.height = Bytes(at + job.bytes[i]);
  }
  auto allocator = make_allocator({plan});
  for (int iteration = 0; iteration < 200; ++iteration) {
    std::vector<std::atomic<void*>> passed(job.bytes.size());
    std::thread other([&] {
      for (std::atomic<void*>& slot : passed) {
        void* address = nullptr;
        while ((address = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
        allocator.free(address);
      }
    });
    for (std::size_t i = 0; i < passed.size(); ++i) {
      void* const address = allocator.allocate(Bytes(job.bytes[i]), StreamId(0));
      ASSERT_NE(address, nullptr);
      passed[i].store(address, std::memory_order_release);
    }
    other.join();
    allocator.on_mark();
  }
  EXPECT_EQ(misses(allocator), 0u);
  EXPECT_EQ(allocator.counts().clean_iterations, 200u);
}

// What is live keeps its stamps, and nobody asks the arena of its segments while memory comes and goes.
TEST(Threads, MemoryGoesBackWhileOthersAllocate) {
  const Job job = gpt_like(4, 1u << 20u);
  auto allocator = make_allocator({place(job)});
  Stamps stamps(allocator);
  std::atomic<bool> done{false};
  std::atomic<std::size_t> pairs{0};  // of all threads, so that together they follow the plan
  std::atomic<std::uint64_t> clashes{0};
  std::vector<std::thread> threads;
  for (int thread = 1; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      while (!done.load()) {
        const std::size_t pair = pairs++;
        const Bytes bytes(job.bytes[pair % job.bytes.size()]);
        static_cast<void>(allocator.lacking(bytes, StreamId(0)));
        void* const address = allocator.allocate(bytes, StreamId(0));
        if (pair % job.bytes.size() == 0) allocator.on_mark();
        if (address == nullptr) continue;
        clashes += !stamps.swap(address, bytes.value(), 0, thread);
        clashes += !stamps.swap(address, bytes.value(), thread, 0);
        allocator.free(address);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    allocator.decommit_idle();
    std::this_thread::yield();
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0u);
  EXPECT_EQ(allocator.live_bytes(), Bytes(0));
  EXPECT_TRUE(allocator.commit_all().ok());
  EXPECT_EQ(allocator.committed_bytes(), allocator.arena().mapped());
}

TEST(Threads, ServedOnlineWhileMemoryComesAndGoes) {
  auto arena = make_arena(FakeAddressBackend(), Bytes(std::uint64_t{1} << 27), Bytes(std::uint64_t{2} << 20),
                          Backing::kInPages);
  PlannedAllocator allocator(std::move(arena).value(), {});
  allocator.serve_online(Bytes(std::uint64_t{1} << 26));
  Stamps stamps(allocator);
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> clashes{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int thread = 1; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<std::pair<void*, std::uint64_t>> live;
      auto seed = static_cast<std::uint64_t>(thread);
      const auto random = [&] { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33u; };
      while (!done.load() || !live.empty()) {
        if (!done.load() && (live.size() < 4 || random() % 2 == 0)) {
          const std::uint64_t bytes = 512 * (1 + random() % (random() % 4 == 0 ? 4000 : 20));
          const StreamId stream(static_cast<std::uint32_t>(random() % 3));
          static_cast<void>(allocator.lacking(Bytes(bytes), stream));
          void* const address = allocator.allocate(Bytes(bytes), stream);
          if (address == nullptr) continue;
          ++served;
          clashes += !stamps.swap(address, bytes, 0, thread);
          clashes += allocator.size_of(address) != Bytes(bytes);
          live.emplace_back(address, bytes);
          continue;
        }
        if (live.empty()) continue;
        std::swap(live[random() % live.size()], live.back());
        const auto [address, bytes] = live.back();
        live.pop_back();
        clashes += !stamps.swap(address, bytes, thread, 0);
        const bool held = random() % 8 == 0;
        if (held) allocator.hold(address);
        allocator.free(address);
        if (held) allocator.release(address);
      }
    });
  }
  for (int i = 0; i < 60 || served.load() <= 100; ++i) {  // on a busy machine the others may begin late
    allocator.decommit_idle(Offset(0), i % 2 == 0 ? Bytes::max() : Bytes(std::uint64_t{4} << 20));
    if (i % 8 == 0) allocator.on_mark();
    static_cast<void>(allocator.active_blocks());
    static_cast<void>(allocator.pinned_bytes({}));
    std::this_thread::yield();
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(served, 100u);
  EXPECT_EQ(clashes, 0u);
  EXPECT_EQ(allocator.live_bytes(), Bytes(0));
  allocator.decommit_idle();
  EXPECT_EQ(allocator.committed_bytes(), Bytes(0));
}

}  // namespace
}  // namespace stowage::allocator::testing
