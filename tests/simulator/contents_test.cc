#include "simulator/device/memory/contents.h"

#include <gtest/gtest.h>

namespace stowage::simulator {
namespace {

TEST(Contents, OnlyTheExactRangeIsKnown) {
  Contents contents;
  contents.remember(1000, 64);
  EXPECT_TRUE(contents.knows(1000, 64));
  EXPECT_FALSE(contents.knows(1000, 8));
  EXPECT_FALSE(contents.knows(1008, 8));
}

TEST(Contents, AWriteIntoARangeForgetsIt) {
  Contents contents;
  contents.remember(1000, 64);
  contents.remember(1032, 8);
  EXPECT_FALSE(contents.knows(1000, 64));
  EXPECT_TRUE(contents.knows(1032, 8));
  contents.forget(1039, 1);
  EXPECT_FALSE(contents.knows(1032, 8));
}

TEST(Contents, NeighboursStayKnown) {
  Contents contents;
  contents.remember(0, 64);
  contents.remember(128, 64);
  contents.remember(64, 64);
  EXPECT_TRUE(contents.knows(0, 64));
  EXPECT_TRUE(contents.knows(128, 64));
}

}  // namespace
}  // namespace stowage::simulator
