// What the system says of its memory is plausible, and fits together.
#include "core/support/host_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace stowage {
namespace {

std::uint64_t total_in_meminfo() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::uint64_t kibi = 0;
  file >> word >> kibi;
  return kibi << 10;
}

TEST(HostMemory, IsNoMoreThanTheMachineHas) {
  EXPECT_GT(host_memory(), Bytes(0));
  EXPECT_LE(host_memory().value(), total_in_meminfo() + (64u << 20))
      << "the kernel keeps a few pages of them";
}

TEST(HostMemory, WhatIsFreeIsAPartOfIt) {
  EXPECT_GT(free_host_memory(), Bytes(0));
  EXPECT_LE(free_host_memory(), host_memory());
}

}  // namespace
}  // namespace stowage
