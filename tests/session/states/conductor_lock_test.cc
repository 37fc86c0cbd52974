#include "session/states/conductor_lock.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace stowage::session {
namespace {

using std::chrono::milliseconds;

TEST(ConductorLock, OneThreadHoldsIt) {
  ConductorLock lock;
  EXPECT_TRUE(lock.try_lock());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  std::thread([&] {
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }).join();
}

TEST(ConductorLock, ItsHolderDoesNotWaitForItself) {
  ConductorLock lock;
  lock.lock();
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_for(std::chrono::hours(24)));
  lock.unlock();
}

TEST(ConductorLock, PatienceEnds) {
  ConductorLock lock;
  lock.lock();
  std::thread([&] { EXPECT_FALSE(lock.try_lock_for(milliseconds(5))); }).join();
  lock.unlock();
}

TEST(ConductorLock, WhoWaitsGetsItOnceItIsFree) {
  ConductorLock lock;
  lock.lock();
  std::latch waiting(2);
  std::thread patient([&] {
    waiting.count_down();
    EXPECT_TRUE(lock.try_lock_for(std::chrono::hours(24)));
    lock.unlock();
  });
  std::thread endless([&] {
    waiting.count_down();
    lock.lock();
    lock.unlock();
  });
  waiting.wait();
  lock.unlock();
  patient.join();
  endless.join();
}

TEST(ConductorLock, WhatItGuardsIsSeenByTheNextHolder) {
  ConductorLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 1000; ++j) {
        if (i % 2 == 0) {
          lock.lock();
        } else if (!lock.try_lock_for(std::chrono::hours(24))) {
          continue;
        }
        ++count;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

}  // namespace
}  // namespace stowage::session
