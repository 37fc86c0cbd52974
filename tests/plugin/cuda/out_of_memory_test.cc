#include "plugin/cuda/adaptor/out_of_memory.h"

#include <gtest/gtest.h>

namespace stowage::plugin {
namespace {

TEST(OutOfMemory, WhatIsOnAlreadyIsNotAdvised) {
  EXPECT_EQ(
      without_known_advice(
          "3.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large "
          "try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
          "documentation for Memory Management"),
      "3.00 MiB is reserved by PyTorch but unallocated. See documentation for Memory Management");
}

TEST(OutOfMemory, TheFractionIsTheOneThatTheUserSet) {
  EXPECT_EQ(
      with_users_fraction("GPU 0 has a total capacity of 1.00 GiB of which 686.00 MiB is free. 351.00 MiB "
                          "allowed; Of the allocated memory 305.05 MiB is allocated by PyTorch",
                          Bytes(std::uint64_t{400} << 20)),
      "GPU 0 has a total capacity of 1.00 GiB of which 686.00 MiB is free. 400.00 MiB allowed, with the "
      "arena; Of the allocated memory 305.05 MiB is allocated by PyTorch");
}

TEST(OutOfMemory, OtherWordsStay) {
  for (const char* text : {"", "CUDA out of memory.", " allowed; ", "nothing is allowed; ask. And again",
                           "If reserved but unallocated memory is large try setting less"}) {
    EXPECT_EQ(without_known_advice(text), text);
    EXPECT_EQ(with_users_fraction(text, Bytes(1)), text);
  }
}

}  // namespace
}  // namespace stowage::plugin
