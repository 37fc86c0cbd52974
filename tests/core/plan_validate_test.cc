// Each rule of Plan::validate() broken once, in an otherwise sound plan, and found.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/plan.h"
#include "tests/core/random_trace.h"

namespace stowage {
namespace {

/// Three entries (one with a spare slot, one upstream's), two inner marks.
Plan sound_plan() {
  Plan plan;
  plan.entries = {{Bytes(512), StreamId(0), Offset(0), Offset(1024)},
                  {Bytes(1024), StreamId(1), Offset(512), kUpstream},
                  {Bytes(4096), StreamId(0), kUpstream, kUpstream}};
  plan.inner_marks = {1, 3};
  plan.height = Bytes(1536);
  plan.lower_bound = Bytes(1536);
  plan.proved_optimal = true;
  return plan;
}

struct Violation {
  const char* name;
  std::function<void(Plan&)> break_it;
  const char* message;  ///< a part of the error's
};

class PlanRule : public ::testing::TestWithParam<Violation> {};

TEST_P(PlanRule, IsFoundWhenBroken) {
  Plan plan = sound_plan();
  ASSERT_TRUE(plan.validate().ok()) << plan.validate().error().message;
  GetParam().break_it(plan);
  const Status status = plan.validate();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidPlan);
  EXPECT_NE(status.error().message.find(GetParam().message), std::string::npos) << status.error().message;
}

const Violation kViolations[] = {
    {"DeviceKind", [](Plan& p) { p.device = DeviceKind{2}; }, "device kind"},
    {"HeightLimit", [](Plan& p) { p.height = Bytes::max(); }, "2^62"},
    {"LowerBound", [](Plan& p) { p.lower_bound = Bytes(1537); }, "lower bound"},
    {"HeightTooHigh", [](Plan& p) { p.height = Bytes(2048); }, "reach up to 1536"},
    {"HeightTooLow", [](Plan& p) { p.height = p.lower_bound = Bytes(1024); }, "within the arena"},
    {"SizeZero", [](Plan& p) { p.entries[0].rounded = Bytes(0); }, "entry 0: its size is 0"},
    {"SizeGranule", [](Plan& p) { p.entries[2].rounded = Bytes(4097); },
     "entry 2: its size is not a multiple"},
    {"SizeLimit", [](Plan& p) { p.entries[2].rounded = Bytes(std::uint64_t{3} << 62); },
     "entry 2: its size is more"},
    {"Stream", [](Plan& p) { p.entries[1].stream = StreamId(kMaxOrdinal); }, "entry 1: its stream"},
    {"OffsetGranule", [](Plan& p) { p.entries[0].offset = Offset(1); }, "entry 0: its slot"},
    {"OffsetWraps", [](Plan& p) { p.entries[0].offset = Offset(~std::uint64_t{0} - 1023); },
     "entry 0: its slot"},
    {"SpareOutside", [](Plan& p) { p.entries[0].spare = Offset(1536); }, "entry 0: its spare slot"},
    {"SpareOverlaps", [](Plan& p) { p.entries[1].spare = Offset(0); }, "entry 1: its two slots overlap"},
    {"SpareAlone", [](Plan& p) { p.entries[2].spare = Offset(0); }, "entry 2: it has a spare"},
    {"InnerMarkOrder",
     [](Plan& p) {
       p.inner_marks = {2, 1};
     },
     "inner marks"},
    {"InnerMarkIndex", [](Plan& p) { p.inner_marks = {4}; }, "inner mark"},
};

INSTANTIATE_TEST_SUITE_P(All, PlanRule, ::testing::ValuesIn(kViolations),
                         [](const auto& family) { return std::string(family.param.name); });

TEST(PlanValidate, AcceptsNothingAtAll) { EXPECT_TRUE(Plan().validate().ok()); }

TEST(PlanValidate, AcceptsRandomPlans) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Status status = testing::random_plan(seed).validate();
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message;
  }
}

}  // namespace
}  // namespace stowage
