#include "plugin/cuda/out_of_memory.h"

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

TEST(OutOfMemory, OtherWordsStay) {
  for (const char* text :
       {"", "CUDA out of memory.", "If reserved but unallocated memory is large try setting less"})
    EXPECT_EQ(without_known_advice(text), text);
}

}  // namespace
}  // namespace stowage::plugin
