// The CPU as a session's device: what it counts while several threads keep, reuse and release blocks.
#include "plugin/cpu/cpu_port.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace stowage::plugin {
namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;

// The heap unmaps what is freed: whoever touches a block that another thread has released crashes.
TEST(CpuPort, AKeptBlockMayBeReleasedAtOnceByAnotherThread) {
  CpuPort::return_memory_at_once();
  CpuPort port("job", &std::free);
  port.ledger()->set_limit(Bytes(std::size_t{1} << 40));
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done.load()) port.release_oldest();
  });
  for (int i = 0; i < 100'000; ++i) {
    void* const block = std::malloc(kBlock);
    port.note_taken(block);
    if (port.keep(block)) continue;
    port.note_given_back(block);
    std::free(block);
  }
  done.store(true);
  other.join();
  port.release_upstream_cache();
  EXPECT_EQ(port.upstream_use().reserved, Bytes(0));
}

// The same request lies in the heap's free space in one run and in pages of its own in another; the schedule
// that one run keeps must fit the log of the next.
TEST(CpuPort, ALargeBlockCountsTheSameWhereverItLies) {
  CpuPort::return_memory_at_once();
  CpuPort port("job", &std::free);
  const auto count = [&](void* block) {
    port.note_taken(block);
    const Bytes bytes = port.upstream_use().reserved;
    port.note_given_back(block);
    return bytes;
  };
  void* const own_pages = aligned_alloc(64, kBlock);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  void* const hole = std::malloc(2 * kBlock);
  void* const after = std::malloc(64);
  std::free(hole);
  void* const in_heap = aligned_alloc(64, kBlock);
  ASSERT_NE(malloc_usable_size(own_pages), malloc_usable_size(in_heap));
  EXPECT_EQ(count(own_pages), count(in_heap));
  EXPECT_LE(count(in_heap), CpuPort::most_held(kBlock));
  for (void* const block : {own_pages, after, in_heap}) std::free(block);
  CpuPort::return_memory_at_once();
}

}  // namespace
}  // namespace stowage::plugin
