#include "session/settings/phrases.h"

#include <gtest/gtest.h>

namespace stowage::session {
namespace {

TEST(Phrases, OrdinalsEndAsInEnglish) {
  EXPECT_EQ(ordinal(1), "1st");
  EXPECT_EQ(ordinal(2), "2nd");
  EXPECT_EQ(ordinal(3), "3rd");
  EXPECT_EQ(ordinal(4), "4th");
  EXPECT_EQ(ordinal(11), "11th");
  EXPECT_EQ(ordinal(13), "13th");
  EXPECT_EQ(ordinal(22), "22nd");
  EXPECT_EQ(ordinal(112), "112th");
}

TEST(Phrases, BytesAreRoundedToMebibytes) {
  EXPECT_EQ(in_ms(0), "0.000 ms");
  EXPECT_EQ(in_ms(1'250'499), "1.250 ms");
  EXPECT_EQ(in_mib(Bytes(0)), "0 MiB");
  EXPECT_EQ(in_mib(Bytes((3u << 20) + (1u << 19))), "4 MiB");
  EXPECT_EQ(in_mib(Bytes((3u << 20) + (1u << 19) - 1)), "3 MiB");
}

}  // namespace
}  // namespace stowage::session
