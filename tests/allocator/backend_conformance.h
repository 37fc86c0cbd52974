// What every backend must do, as one typed suite. A backend joins with a Subject (see host_backend_test.cc):
//   using Backend = …;             the backend
//   static Result<Backend> make(); one on a device that is there; an error skips the test with its message
//   static void touch(char* first, Bytes bytes);  writes and reads what can be written and read from the host
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "allocator/arena/backend.h"

namespace stowage::allocator::testing {

template <class Subject>
class BackendConformance : public ::testing::Test {
 protected:
  using B = typename Subject::Backend;
  void SetUp() override {
    Result<B> made = Subject::make();
    if (!made.ok()) GTEST_SKIP() << made.error().message;
    backend_ = std::make_unique<B>(std::move(*made));
    unit_ = backend_->granularity();
  }
  Result<std::unique_ptr<Arena>> make(Bytes reserved, Bytes mapped) {
    return make_arena(std::move(*backend_), reserved, mapped);
  }
  Bytes units(std::uint64_t count) const { return Bytes(count * unit_.value()); }

  std::unique_ptr<B> backend_;
  Bytes unit_{0};
};

TYPED_TEST_SUITE_P(BackendConformance);

TYPED_TEST_P(BackendConformance, GranularityIsAPowerOfTwoOfAtLeastAGranule) {
  EXPECT_GE(this->unit_, kGranule);
  EXPECT_EQ(this->unit_.value() & (this->unit_.value() - 1), 0u);
}

TYPED_TEST_P(BackendConformance, TellsItsMemory) {
  const Result<MemoryInfo> info = this->backend_->memory();
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_GT(info->total, Bytes(0));
  EXPECT_LE(info->free, info->total);
}

TYPED_TEST_P(BackendConformance, ArenaIsAlignedRoundedAndUsable) {
  auto arena = this->make(this->units(4), Bytes(1));
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  EXPECT_NE((*arena)->base(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*arena)->base()) % this->unit_.value(), 0u);
  EXPECT_EQ((*arena)->mapped(), this->units(1));
  EXPECT_GE((*arena)->reserved(), (*arena)->mapped());
  TypeParam::touch(static_cast<char*>((*arena)->base()), (*arena)->mapped());
}

TYPED_TEST_P(BackendConformance, GrowsInPlaceUpToItsReservation) {
  auto arena = this->make(this->units(8), this->units(2));
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  void* const base = (*arena)->base();
  EXPECT_TRUE((*arena)->grow(this->units(1)).ok()) << "less than is mapped is no work";
  EXPECT_EQ((*arena)->mapped(), this->units(2));
  const Status grown = (*arena)->grow(this->units(4) + Bytes(1));
  EXPECT_EQ(grown.ok(), TypeParam::Backend::kGrows);
  if (grown.ok()) {
    EXPECT_EQ((*arena)->mapped(), this->units(5));
    EXPECT_TRUE((*arena)->grow(this->units(8)).ok());
  }
  EXPECT_EQ((*arena)->base(), base);
  TypeParam::touch(static_cast<char*>(base), (*arena)->mapped());
}

TYPED_TEST_P(BackendConformance, BeyondTheReservationIsOutOfMemoryAndChangesNothing) {
  auto arena = this->make(this->units(3), this->units(3));
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  const Status grown = (*arena)->grow((*arena)->reserved() + Bytes(1));
  ASSERT_FALSE(grown.ok());
  EXPECT_EQ(grown.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ((*arena)->mapped(), this->units(3));
  TypeParam::touch(static_cast<char*>((*arena)->base()), (*arena)->mapped());
}

TYPED_TEST_P(BackendConformance, MoreThanTheDeviceHasIsOutOfMemory) {
  const Bytes absurd(std::uint64_t{1} << 60);
  auto arena = this->make(absurd, absurd);
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfMemory);
  EXPECT_FALSE(arena.error().message.empty());
}

TYPED_TEST_P(BackendConformance, GivesEverythingBack) {
  for (int round = 0; round < 50; ++round) {
    Result<typename TypeParam::Backend> backend = TypeParam::make();
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    auto arena = make_arena(std::move(*backend), this->units(64), this->units(64));
    ASSERT_TRUE(arena.ok()) << "round " << round << ": " << arena.error().message;
  }
}

REGISTER_TYPED_TEST_SUITE_P(BackendConformance, GranularityIsAPowerOfTwoOfAtLeastAGranule, TellsItsMemory,
                            ArenaIsAlignedRoundedAndUsable, GrowsInPlaceUpToItsReservation,
                            BeyondTheReservationIsOutOfMemoryAndChangesNothing,
                            MoreThanTheDeviceHasIsOutOfMemory, GivesEverythingBack);

}  // namespace stowage::allocator::testing
