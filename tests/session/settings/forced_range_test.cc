// STOWAGE_EVICT and STOWAGE_FAULT as they are written.
#include "session/settings/forced_range.h"

#include <gtest/gtest.h>

#include <limits>

#include "session/settings/settings.h"

namespace stowage::session {
namespace {

TEST(ForcedRange, ReadsASeedAndARange) {
  EXPECT_FALSE(ForcedRange::parse("")->is_set());
  const auto all = ForcedRange::parse("forced:7");
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->is_set());
  EXPECT_FALSE(all->is_part());
  EXPECT_EQ(all->seed(), 7u);
  EXPECT_EQ(all->first(), 1u);
  EXPECT_EQ(all->last(), std::numeric_limits<std::uint64_t>::max());
  const auto part = ForcedRange::parse("forced:0:20-20");
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->is_part());
  EXPECT_EQ(part->first(), 20u);
  EXPECT_EQ(part->last(), 20u);
  EXPECT_EQ(part->text(), "forced:0:20-20");
}

TEST(ForcedRange, RefusesEverythingElse) {
  for (const char* text :
       {"forced", "forced:", "1", "forced:x", "forced:-1", "forced:1:", "forced:1:5", "forced:1:5-",
        "forced:1:6-5", "forced:1:0-5", "forced:1:1-5 ", " forced:1", "forced:1:1-99999999999999999999"})
    EXPECT_FALSE(ForcedRange::parse(text)) << text;
}

TEST(ForcedRange, IsASettingWhoseErrorSaysWhatItTakes) {
  EXPECT_EQ(parse_settings({{"STOWAGE_EVICT", "forced:3:1-9"}}, "")->evict.last(), 9u);
  const auto wrong = parse_settings({{"STOWAGE_EVICT", "3"}}, "");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("forced:SEED"), std::string::npos) << wrong.error().message;
}

TEST(Fault, OfARecipeNamesAnOp) {
  const auto planted = parse_settings({{"STOWAGE_FAULT", "recipe:aten::softplus"}}, "");
  ASSERT_TRUE(planted.ok());
  EXPECT_EQ(planted->fault, Fault::kRecipe);
  EXPECT_EQ(planted->wrong_recipe, "aten::softplus");
  EXPECT_EQ(parse_settings({{"STOWAGE_FAULT", "arena"}}, "")->fault, Fault::kArena);
  EXPECT_FALSE(parse_settings({{"STOWAGE_FAULT", "recipe:"}}, "").ok());
  EXPECT_FALSE(parse_settings({{"STOWAGE_FAULT", "recipe"}}, "").ok());
}

}  // namespace
}  // namespace stowage::session
