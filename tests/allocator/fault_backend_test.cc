#include "allocator/arena/fault_backend.h"

#include "allocator/arena/host_backend.h"
#include "tests/allocator/backend_conformance.h"

namespace stowage::allocator::testing {
namespace {

struct Fake {
  using Backend = FakeAddressBackend;
  static Result<Backend> make() { return Backend(); }
  static void touch(char*, Bytes) {}
};

struct FaultOverHost {
  using Backend = FaultBackend<HostBackend>;
  static Result<Backend> make() { return Backend(HostBackend(), std::make_shared<FaultSwitch>()); }
  static void touch(char* first, Bytes bytes) { first[0] = first[bytes.value() - 1] = 1; }
};

using Subjects = ::testing::Types<Fake, FaultOverHost>;
INSTANTIATE_TYPED_TEST_SUITE_P(Fault, BackendConformance, Subjects);

class FaultyArena : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Arena>> make(Bytes reserved, Bytes mapped) {
    return make_arena(FaultBackend(FakeAddressBackend(), faults_), reserved, mapped);
  }
  static constexpr Bytes kMiB2{2u << 20};
  std::shared_ptr<FaultSwitch> faults_ = std::make_shared<FaultSwitch>();
};

TEST_F(FaultyArena, NoAddressesIsAnError) {
  faults_->reserves_left = 0;
  const auto arena = make(kMiB2, kMiB2);
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfMemory);
}

TEST_F(FaultyArena, NoMemoryIsAnErrorAndLeavesNothing) {
  faults_->maps_left = 0;
  EXPECT_FALSE(
      make(kMiB2, kMiB2).ok());  // the fake backend ends the process if a range is given back wrongly
  EXPECT_EQ(faults_->mapped, Bytes(0));
}

TEST_F(FaultyArena, TheNthGrowthFailsAndALaterOneWorks) {
  auto arena = make(Bytes(64u << 20), kMiB2);
  ASSERT_TRUE(arena.ok());
  faults_->maps_left = 1;
  EXPECT_TRUE((*arena)->grow(Bytes(4u << 20)).ok());
  EXPECT_FALSE((*arena)->grow(Bytes(6u << 20)).ok());
  EXPECT_EQ((*arena)->mapped(), Bytes(4u << 20)) << "all or nothing";
  faults_->maps_left = FaultSwitch::kNeverFail;
  EXPECT_TRUE((*arena)->grow(Bytes(6u << 20)).ok());
  EXPECT_EQ(faults_->mapped, Bytes(6u << 20));
}

TEST_F(FaultyArena, AByteLimitHoldsOverAllGrowths) {
  faults_->map_limit = Bytes(6u << 20);
  auto arena = make(Bytes(64u << 20), Bytes(4u << 20));
  ASSERT_TRUE(arena.ok());
  EXPECT_FALSE((*arena)->grow(Bytes(8u << 20)).ok());
  EXPECT_TRUE((*arena)->grow(Bytes(6u << 20)).ok());
  arena->reset();
  EXPECT_EQ(faults_->mapped, Bytes(0));
}

}  // namespace
}  // namespace stowage::allocator::testing
