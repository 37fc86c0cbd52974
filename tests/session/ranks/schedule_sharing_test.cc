// Schedules that one rank makes for all, and how they are told.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "core/format/actions_content.h"
#include "planner/schedule/check/validator.h"
#include "session/ranks/problem_digest.h"
#include "session/ranks/rank_sharing.h"
#include "tests/planner/schedule_logs.h"
#include "tests/session/fake_torch.h"
#include "tests/session/ranks/fake_ranks.h"

namespace stowage::session {
namespace {

using planner::schedule::Effort;

using planner::schedule::chain;

TEST(ScheduleMessage, WhatIsWrittenIsRead) {
  const std::vector<Action> actions{{ActionKind::kEvict, 1, 2},
                                    {ActionKind::kRematerialize, 1u << 31u, 70'000}};
  EXPECT_EQ(decode_actions(encode_actions(actions)), actions);
  EXPECT_EQ(decode_actions(encode_actions({})), std::vector<Action>());
}

TEST(ScheduleMessage, NothingElseIsRead) {
  const RankStore::Value good = encode_actions({{ActionKind::kEvict, 1, 2}, {ActionKind::kEvict, 3, 4}});
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_actions(std::span(good).first(size))) << size;
  RankStore::Value longer = good;
  longer.push_back({});
  EXPECT_FALSE(decode_actions(longer));
  for (const std::size_t at : {0u, 3u, 4u, 7u, 8u}) {  // magic, count, kind
    RankStore::Value changed = good;
    changed[at] = std::byte{0xff};
    EXPECT_FALSE(decode_actions(changed)) << at;
  }
}

struct Rank {
  Rank(const std::shared_ptr<FakeServer>& server, std::uint64_t rank) : sharing(torch, limits()) {
    torch.ranks = fake_group(server, rank, 4);
  }
  static ExchangeLimits limits() {
    ExchangeLimits patient;
    patient.call = patient.patience = std::chrono::minutes(1);
    return patient;
  }
  Schedule schedule(const StepLog& log, Bytes budget) {
    Result<Schedule> made = sharing.schedule_maker()(log, budget, Effort::kFirst, {});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : Schedule{};
  }
  [[nodiscard]] SharedWork counts() const { return sharing.facts().schedules; }
  FakeTorch torch;
  RankSharing sharing;
};

struct ScheduleSharingTest : testing::Test {
  [[nodiscard]] Bytes budget_of(const StepLog& one) const {
    Schedule nothing;
    nothing.shape_hashes = one.shape_hashes;
    const Bytes plenty(std::uint64_t{1} << 50u);
    return Bytes(planner::schedule::validate_schedule(one, nothing, plenty)->peak.value() * 7 / 10);
  }
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  StepLog log = chain(12, 64);
  Bytes budget = budget_of(log);
};

TEST_F(ScheduleSharingTest, FourRanksFollowTheScheduleOfOne) {
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<Schedule> schedules(4);
  for (std::uint64_t rank = 0; rank < 4; ++rank) ranks.push_back(std::make_unique<Rank>(server, rank));
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        StepLog own = log;  // each has times of its own
        for (Op& op : own.trace.ops) op.duration_ns += 100 * rank;
        schedules[rank] = ranks[rank]->schedule(own, budget);
      });
    }
  }
  std::uint64_t made = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_FALSE(schedules[rank].actions.empty());
    EXPECT_EQ(schedules[rank].actions, schedules[0].actions);
    EXPECT_EQ(schedules[rank].peak, schedules[0].peak);
    EXPECT_EQ(ranks[rank]->counts().made + ranks[rank]->counts().received, 1u);
    made += ranks[rank]->counts().made;
  }
  EXPECT_EQ(made, 1u);
}

TEST_F(ScheduleSharingTest, OtherIterationsAndBudgetsHaveSchedulesOfTheirOwn) {
  Rank first(server, 0);
  Rank second(server, 1);
  first.schedule(log, budget);
  second.schedule(log, budget + Bytes(budget.value() / 100));
  const StepLog other = chain(14, 64);
  second.schedule(other, budget_of(other));
  EXPECT_EQ(first.counts().made, 1u);
  EXPECT_EQ(second.counts().made, 2u);
  EXPECT_EQ(second.counts().received + second.counts().refused, 0u);
}

TEST_F(ScheduleSharingTest, BudgetsMayDifferByBytesAsPeaksDo) {
  Rank first(server, 0);
  Rank second(server, 1);
  budget = Bytes(budget.value() / 4096 * 4096);
  const Schedule made = first.schedule(log, budget);
  EXPECT_EQ(second.schedule(log, budget + Bytes(40)).actions, made.actions);
  EXPECT_EQ(second.counts().received, 1u);
  EXPECT_LE(second.schedule(log, Bytes(made.peak.value() - 512)).peak, made.peak - Bytes(512));
  EXPECT_EQ(second.counts().received, 1u) << "the first one's holds too much";
}

TEST_F(ScheduleSharingTest, WhoAsksAgainMakesItsOwn) {
  Rank first(server, 0);
  Rank second(server, 1);
  EXPECT_FALSE(first.schedule(log, budget).received);
  EXPECT_TRUE(second.schedule(log, budget).received);
  EXPECT_FALSE(second.schedule(log, budget).received);
  EXPECT_EQ(second.counts().received, 1u);
  EXPECT_EQ(second.counts().made, 1u);
}

TEST_F(ScheduleSharingTest, WhereNobodyIsNothingIsCounted) {
  Rank alone(server, 0);
  alone.torch.ranks.reset();
  EXPECT_EQ(alone.schedule(log, budget).actions, alone.schedule(log, budget).actions);
  EXPECT_EQ(alone.counts().made, 0u);
}

TEST_F(ScheduleSharingTest, WhatDoesNotHoldTheBudgetIsRefused) {
  const std::string name = "stowage/schedules/" + digest_of(log, budget);
  for (const RankStore::Value& value : {encode_actions({}), RankStore::Value(100, std::byte{1})}) {
    server->add(name + "/claims/0", 1);
    server->set(name, value);
    Rank rank(server, 1);
    EXPECT_LE(rank.schedule(log, budget).peak, budget);
    EXPECT_EQ(rank.counts().refused, 1u);
    EXPECT_EQ(rank.counts().made, 1u);
  }
}

TEST_F(ScheduleSharingTest, AnErrorIsEveryRanksOwn) {
  Rank first(server, 0);
  Rank second(server, 1);
  for (Rank* rank : {&first, &second}) {
    EXPECT_FALSE(rank->sharing.schedule_maker()(log, Bytes(512), Effort::kFirst, {}).ok());
    EXPECT_FALSE(
        rank->sharing
            .schedule_maker()(StepLog{{}, {Stay::kMayGo}, {}, {}, {}, {}, {}, {}}, budget, Effort::kFirst, {})
            .ok());
    EXPECT_EQ(rank->counts().made, 0u);
  }
  EXPECT_EQ(second.sharing.facts().looks, 1u);
}

}  // namespace
}  // namespace stowage::session
