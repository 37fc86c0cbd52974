#include "allocator/arena/host_backend.h"

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

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

/// The kernel's flags of the mapping that begins at `base`.
std::string flags_of(const void* base) {
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<std::uintptr_t>(base) << '-';
  std::ifstream smaps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(smaps, line);) {
    found |= line.rfind(begin.str(), 0) == 0;
    if (found && line.rfind("VmFlags:", 0) == 0) return line + ' ';
  }
  return {};
}

TEST(HostBackend, AsksForHugePagesWhereTheyAreWanted) {
  for (const bool wanted : {false, true}) {
    auto arena = make_arena(HostBackend(wanted), Bytes(8u << 20), Bytes(8u << 20));
    ASSERT_TRUE(arena.ok());
    const std::string flags = flags_of((*arena)->base());
    if (flags.empty()) GTEST_SKIP() << "/proc/self/smaps has no flags";
    EXPECT_EQ(flags.find(" hg ") != std::string::npos, wanted) << flags;
  }
}

}  // namespace
}  // namespace stowage::allocator::testing
