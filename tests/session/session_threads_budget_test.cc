// Several threads under one budget: what they hold together is never above it.
#include "tests/session/busy_session.h"

namespace stowage::session {
namespace {

/// Param: memory is committed when it is touched.
struct BudgetThreads : BusySession, testing::WithParamInterface<bool> {
  BudgetThreads() {
    port.counted = true;
    port.on_touch = GetParam();
  }
};

TEST_P(BudgetThreads, HoldNoMoreThanThatTogether) {
  Settings settings = patient();
  settings.budget = *Budget::parse("3MiB");
  settings.record_ops = false;
  start(settings);
  const Step take_much = [&](Blocks& blocks) {
    for (std::uint64_t i = 0; i < 8; ++i) blocks.make((std::uint64_t{1} << 18) + 512 * i);
    EXPECT_FALSE(session->explain_shortage(Bytes(1)).empty());
    blocks.drop_all();
  };
  const Step give_back = [&](Blocks& blocks) {
    use_planned_sizes(blocks);
    session->give_back_idle();
    EXPECT_LE(port.count.peak_held(), port.count.limit());
  };
  reach_plan();
  for (int round = 0; round < 3; ++round) {
    settle();
    beside({take_much, give_back, use_on_two_streams, use_other_sizes}, [&] {
      for (int i = 0; i < 20; ++i) iterate();
    });
  }
  settle();
  EXPECT_NE(session->state(), SessionState::kOff);
  EXPECT_EQ(port.count.limit(), Bytes(3u << 20));
  EXPECT_LE(port.count.peak_held(), port.count.limit());
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Each, BudgetThreads, testing::Bool());

}  // namespace
}  // namespace stowage::session
