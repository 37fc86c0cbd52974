// The pool of buffers: none is given out twice, none is lost, and threads may do all of it at once.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tracer/cupti/buffers.h"

namespace stowage::tracer::cupti {
namespace {

TEST(BufferPool, GivesOutEachBufferOnceAndCountsRefusals) {
  BufferPool pool(3, 128);
  std::set<std::byte*> taken;
  for (int i = 0; i < 3; ++i) taken.insert(pool.take());
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken.count(nullptr), 0u);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.refused(), 1u);
  EXPECT_EQ(pool.away(), 3u);
  for (std::byte* buffer : taken)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % BufferPool::kAlignment, 0u);
}

TEST(BufferPool, ReadsInTheOrderOfCompletion) {
  BufferPool pool(2, 128);
  std::byte* const first = pool.take();
  std::byte* const second = pool.take();
  EXPECT_TRUE(pool.complete(second, 10));
  EXPECT_TRUE(pool.complete(first, 500)) << "more than it holds";
  EXPECT_EQ(pool.next()->buffer, second);
  const auto filled = pool.next();
  EXPECT_EQ(filled->buffer, first);
  EXPECT_EQ(filled->valid, 128u);
  pool.give_back(first);
  pool.give_back(second);
  EXPECT_NE(pool.take(), nullptr);
}

TEST(BufferPool, IgnoresWhatIsNotItsOwn) {
  BufferPool pool(1, 128);
  std::byte other[8];
  EXPECT_FALSE(pool.complete(other, 8));
  std::byte* const own = pool.take();
  EXPECT_TRUE(pool.complete(own, 8));
  EXPECT_FALSE(pool.complete(own, 8)) << "it is not away any more";
}

TEST(BufferPool, ClosingEndsTheWait) {
  BufferPool pool(1, 128);
  std::thread reader([&] { EXPECT_FALSE(pool.next().has_value()); });
  pool.close();
  reader.join();
}

TEST(BufferPool, WhatWasFilledIsReadAfterClosing) {
  BufferPool pool(1, 128);
  pool.complete(pool.take(), 8);
  pool.close();
  EXPECT_TRUE(pool.next().has_value());
  EXPECT_FALSE(pool.next().has_value());
}

TEST(BufferPool, ThreadsMayTakeFillAndReadAtOnce) {
  BufferPool pool(4, 64);
  std::atomic<int> filled{0};
  std::atomic<int> read{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 2'000; ++turn) {
        std::byte* const buffer = pool.take();
        if (buffer == nullptr) continue;
        buffer[0] = std::byte{1};
        pool.complete(buffer, 1);
        ++filled;
      }
    });
  }
  std::thread reader([&] {
    while (const auto one = pool.next()) {
      one->buffer[0] = std::byte{2};
      ++read;
      pool.give_back(one->buffer);
    }
  });
  for (std::thread& thread : threads) thread.join();
  pool.wait_until_read(std::chrono::seconds(10));
  EXPECT_EQ(pool.away(), 0u);
  pool.close();
  reader.join();
  EXPECT_EQ(read, filled);
}

}  // namespace
}  // namespace stowage::tracer::cupti
