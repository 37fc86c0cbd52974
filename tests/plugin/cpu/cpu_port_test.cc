// The CPU as a session's device: what it counts while several threads keep, reuse and release blocks.
#include "plugin/cpu/cpu_port.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stowage::plugin
