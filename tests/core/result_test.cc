#include "core/result.h"

#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <set>
#include <string>

#include "core/support/check.h"

namespace stowage {
namespace {

Result<std::unique_ptr<int>> half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd"};
  return std::make_unique<int>(number / 2);
}

TEST(Result, HoldsAValueOrAnError) {
  auto good = half(8);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(**good, 4);
  auto bad = half(7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(bad.error().message, "odd");
}

TEST(Result, GivesAMoveOnlyValueAway) {
  const std::unique_ptr<int> taken = half(6).value();
  EXPECT_EQ(*taken, 3);
}

TEST(Status, IsSuccessUnlessAnErrorIsGiven) {
  EXPECT_TRUE(Status().ok());
  const Status failed = Error{ErrorCode::kIo, "disk"};
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
}

TEST(ErrorCode, EveryCodeHasANameOfItsOwnInKebabCase) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    const std::string name = to_string(static_cast<ErrorCode>(code));
    EXPECT_NE(name, "unknown") << code;
    EXPECT_TRUE(names.insert(name).second) << name;
    for (const char c : name)
      EXPECT_TRUE(c == '-' || std::islower(static_cast<unsigned char>(c)) != 0) << name;
  }
  EXPECT_STREQ(to_string(static_cast<ErrorCode>(99)), "unknown");
}

TEST(CheckDeathTest, NamesPlaceConditionAndMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int one = 1;
  EXPECT_DEATH(STOWAGE_CHECK(one == 2, "numbers broke"), "result_test.cc:[0-9]+: one == 2: numbers broke");
  STOWAGE_CHECK(one == 1, "never printed");
}

TEST(CheckDeathTest, LowerLevelsDoNotEvaluateTheirCondition) {
  int evaluated = 0;
  STOWAGE_DCHECK(++evaluated > 0, "debug");
  STOWAGE_AUDIT(++evaluated > 0, "audit");
  EXPECT_EQ(evaluated, STOWAGE_CHECK_LEVEL);
}

}  // namespace
}  // namespace stowage
