#include "allocator/arena/host_backend.h"

#include <cstring>

#include "tests/allocator/backend_conformance.h"

namespace stowage::allocator::testing {
namespace {

struct Host {
  using Backend = HostBackend;
  static Result<HostBackend> make() { return HostBackend(); }
  static void touch(char* first, Bytes bytes) {
    std::memset(first, 0x5a, bytes.value());
    EXPECT_EQ(first[0], 0x5a);
    EXPECT_EQ(first[bytes.value() - 1], 0x5a);
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Host, BackendConformance, Host);

TEST(HostBackendDeathTest, WhatIsNotMappedIsAFault) {
  const Bytes page = HostBackend().granularity();
  auto arena = make_arena(HostBackend(), page + page, page);
  ASSERT_TRUE(arena.ok());
  volatile char* const beyond = static_cast<char*>((*arena)->base()) + page.value();
  EXPECT_DEATH(*beyond = 1, "");
}

TEST(HostBackend, BaseFitsAHugePage) {
  auto arena = make_arena(HostBackend(), Bytes(8u << 20), Bytes(8u << 20));
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*arena)->base()) % (2u << 20), 0u);
}

}  // namespace
}  // namespace stowage::allocator::testing
