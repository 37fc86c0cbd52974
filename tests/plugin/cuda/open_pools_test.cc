// Which requests go to the job's own pools, and when a graph capture that nobody ended is over. No device: no
// stream captures anything.
#include "plugin/cuda/upstream/open_pools.h"

#include <gtest/gtest.h>

#include <thread>

namespace stowage::plugin {
namespace {

constexpr c10::MempoolId_t kOne{0, 1};
constexpr c10::MempoolId_t kTwo{0, 2};

cudaStream_t stream(std::uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }

/// Filters know a capture by the type that makes them.
struct LikeCUDAGraph {
  static OpenPools::Filter filter() {
    return [](cudaStream_t) { return false; };
  }
};

TEST(OpenPools, TakeWhatTheirFiltersAccept) {
  OpenPools pools;
  EXPECT_FALSE(pools.any());
  pools.open(
      kOne, [](cudaStream_t asked) { return asked == stream(1); }, stream(1));
  pools.open(
      kTwo, [](cudaStream_t asked) { return asked == stream(2); }, stream(2));
  EXPECT_TRUE(pools.any());
  EXPECT_TRUE(pools.take(stream(1)));
  EXPECT_TRUE(pools.take(stream(2)));
  EXPECT_FALSE(pools.take(stream(3)));
  EXPECT_TRUE(pools.close(kOne));
  EXPECT_FALSE(pools.take(stream(1)));
  EXPECT_FALSE(pools.close(kOne));
  EXPECT_TRUE(pools.close(kTwo));
  EXPECT_FALSE(pools.any());
}

TEST(OpenPools, AreNoCapturesUnlessAGraphOpensThem) {
  OpenPools pools;
  pools.open(
      kOne, [](cudaStream_t) { return true; }, stream(1));
  EXPECT_FALSE(pools.capturing());
  EXPECT_TRUE(pools.close_failed().empty());
  EXPECT_TRUE(pools.any());
}

TEST(OpenPools, CloseACaptureOnceItsThreadHasGoneOn) {
  OpenPools pools;
  std::thread([&] { pools.open(kOne, LikeCUDAGraph::filter(), stream(1)); }).join();
  EXPECT_TRUE(pools.capturing()) << "it may be about to begin";
  EXPECT_TRUE(pools.close_failed().empty());
  pools.open(kTwo, LikeCUDAGraph::filter(), stream(2));
  const std::vector<c10::MempoolId_t> failed = pools.close_failed();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed.front(), kTwo);
  EXPECT_TRUE(pools.close(kOne));
  EXPECT_FALSE(pools.capturing());
}

}  // namespace
}  // namespace stowage::plugin
