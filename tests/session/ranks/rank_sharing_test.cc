#include "session/ranks/rank_sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "core/format/kept_plans_file.h"
#include "session/ranks/problem_digest.h"
#include "tests/planner/kinds/automata.h"
#include "tests/session/fake_torch.h"
#include "tests/session/ranks/fake_ranks.h"

namespace stowage::session {
namespace {

using namespace std::chrono_literals;
using planner::JointOptions;
using planner::Kinds;

JointOptions thorough() {
  JointOptions options;
  options.time_limit_s = 60;  // results of tests depend on work alone
  options.work_limit = 2'000'000;
  options.good_enough = 0.001;
  return options;
}

ExchangeLimits limits_of(std::chrono::milliseconds patience) {
  ExchangeLimits limits;
  limits.call = limits.patience = patience;
  return limits;
}

Kinds job(std::uint64_t seed) { return planner::kinds_of(planner::trace_of(planner::run_automaton(seed))); }

std::vector<std::byte> bytes_of(const std::vector<Plan>& plans) {
  KeptPlans kept;
  kept.plans = plans;
  const auto bytes = encode_kept_plans(kept);
  return bytes.ok() ? *bytes : std::vector<std::byte>();
}

/// One rank, which plans `kinds` once.
struct Rank {
  Rank(const std::shared_ptr<FakeServer>& server, std::uint64_t rank,
       std::chrono::milliseconds patience = 60s, int throws_from = kNever)
      : sharing(torch, limits_of(patience)) {
    torch.ranks = fake_group(server, rank, 4, throws_from);
  }
  JointPlan plan(const Kinds& kinds, const JointOptions& options = thorough()) {
    Result<JointPlan> made = sharing.plan_maker()(kinds, options, stop.get_token());
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : JointPlan{};
  }
  FakeTorch torch;
  RankSharing sharing;
  std::stop_source stop;
};

struct RankSharingTest : testing::Test {
  ~RankSharingTest() override { server->let_go(); }
  void claim(const std::string& digest, int claimant) {
    server->add("stowage/plans/" + digest + "/claims/" + std::to_string(claimant), 1);
  }
  /// Some other rank has claimed what `kinds` need, and put `value` there.
  void put(const Kinds& kinds, const RankStore::Value& value) {
    claim(digest_of(kinds, thorough()), 0);
    server->set("stowage/plans/" + digest_of(kinds, thorough()), value);
  }
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
};

void expect_same_but_for_times(JointPlan one, JointPlan other) {
  for (JointPlan* plan : {&one, &other}) {
    for (Plan& kind : plan->plans) kind.planning_ns = 0;
  }
  EXPECT_EQ(one, other);
}

TEST_F(RankSharingTest, FourRanksGetTheSameBytesAndOneMakesThem) {
  const Kinds kinds = job(1);
  std::vector<JointPlan> plans(4);
  std::vector<SharingFacts> facts(4);
  std::vector<std::unique_ptr<Rank>> ranks;
  for (std::uint64_t rank = 0; rank < 4; ++rank) ranks.push_back(std::make_unique<Rank>(server, rank));
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t rank = 0; rank < 4; ++rank)
      threads.emplace_back([&, rank] { plans[rank] = ranks[rank]->plan(kinds); });
  }
  for (std::uint64_t rank = 0; rank < 4; ++rank) facts[rank] = ranks[rank]->sharing.facts();
  std::uint64_t made = 0;
  std::uint64_t received = 0;
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(plans[rank], plans[0]);
    EXPECT_EQ(bytes_of(plans[rank].plans), bytes_of(plans[0].plans));
    EXPECT_EQ(facts[rank].digest, facts[0].digest);
    EXPECT_EQ(facts[rank].rank, rank);
    EXPECT_EQ(facts[rank].ranks, 4u);
    EXPECT_EQ(facts[rank].plans.refused + facts[rank].failures, 0u);
    EXPECT_EQ(facts[rank].received_bytes > 0, facts[rank].plans.received == 1);
    made += facts[rank].plans.made;
    received += facts[rank].plans.received;
  }
  EXPECT_EQ(made, 1u);
  EXPECT_EQ(received, 3u);
  expect_same_but_for_times(plans[0], *planner::make_plans(kinds, thorough()));
}

TEST_F(RankSharingTest, RanksThatDifferHavePlansOfTheirOwn) {
  Rank stage(server, 0);
  Rank other(server, 1);
  const JointPlan plans = stage.plan(job(1));
  const JointPlan others = other.plan(job(2));
  EXPECT_NE(plans, others);
  EXPECT_EQ(stage.sharing.facts().plans.made + other.sharing.facts().plans.made, 2u);
  EXPECT_NE(stage.sharing.facts().digest, other.sharing.facts().digest);
}

TEST_F(RankSharingTest, PlansThatMayTakeOtherWorkAreNotTheSame) {
  const Kinds kinds = job(1);
  JointOptions less = thorough();
  less.total_work = 1'000'000;
  EXPECT_NE(digest_of(kinds, less), digest_of(kinds, thorough()));
}

TEST_F(RankSharingTest, EachRankKeepsItsOwnHistory) {
  Kinds kinds = job(1);
  Rank first(server, 0);
  const JointPlan plans = first.plan(kinds);
  kinds.history.push_back(0);
  Rank second(server, 1);
  const JointPlan others = second.plan(kinds);
  EXPECT_EQ(second.sharing.facts().plans.received, 1u);
  EXPECT_EQ(others.plans, plans.plans);
  EXPECT_EQ(others.history, kinds.history);
}

TEST_F(RankSharingTest, WhatOnlyOneRankNeedsIsNotSent) {
  const Kinds kinds = job(3);
  Rank first(server, 0);
  Rank second(server, 1);
  JointOptions options = thorough();
  options.in_use = first.plan(kinds).plans;
  const std::uint64_t sent = first.sharing.facts().sent_bytes;
  EXPECT_GT(sent, 0u);
  options.tenants = {{Offset(0), Bytes(512), StreamId(0)}};
  const JointPlan plans = first.plan(kinds, options);
  EXPECT_EQ(first.sharing.facts().sent_bytes, sent) << "tenants differ from rank to rank";
  expect_same_but_for_times(second.plan(kinds, options), plans);
  EXPECT_EQ(second.sharing.facts().looks, 1u) << "it waited for what is not there";
  options.tenants.front().offset = Offset(1024);
  second.plan(kinds, options);
  EXPECT_NE(second.sharing.facts().digest, first.sharing.facts().digest);
  EXPECT_EQ(second.sharing.facts().plans.made, 2u);
}

TEST_F(RankSharingTest, AClaimantThatDiesIsReplacedByOne) {
  const Kinds kinds = job(1);
  claim(digest_of(kinds, thorough()), 0);
  Rank next(server, 1, 30ms);
  Rank last(server, 2, 30ms);
  const JointPlan plans = next.plan(kinds);
  EXPECT_EQ(last.plan(kinds), plans);
  EXPECT_EQ(next.sharing.facts().plans.made, 1u);
  EXPECT_EQ(last.sharing.facts().plans.received, 1u);
}

TEST_F(RankSharingTest, WithoutAnyAnswerARankPlansAlone) {
  const Kinds kinds = job(1);
  for (int claimant = 0; claimant < 2; ++claimant) claim(digest_of(kinds, thorough()), claimant);
  Rank last(server, 3, 30ms);
  expect_same_but_for_times(last.plan(kinds), *planner::make_plans(kinds, thorough()));
  EXPECT_EQ(last.sharing.facts().plans.made, 1u);
  EXPECT_EQ(last.sharing.facts().failures, 0u);
}

TEST_F(RankSharingTest, AStoreThatFailsCostsNothingButSharing) {
  const Kinds kinds = job(1);
  const JointPlan wanted = *planner::make_plans(kinds, thorough());
  for (int calls = 0; calls < 2; ++calls) {
    Rank rank(std::make_shared<FakeServer>(), 0, 60s, calls);
    expect_same_but_for_times(rank.plan(kinds), wanted);
    EXPECT_EQ(rank.sharing.facts().plans.made, 1u);
    EXPECT_EQ(rank.sharing.facts().failures, 1u) << calls;
  }
}

TEST_F(RankSharingTest, AStoreThatHangsCostsNoMoreThanItsBound) {
  server->hang();
  Rank rank(server, 0, 30ms);
  const Kinds kinds = job(1);
  expect_same_but_for_times(rank.plan(kinds), *planner::make_plans(kinds, thorough()));
  EXPECT_EQ(rank.sharing.facts().failures, 1u);
}

TEST_F(RankSharingTest, WhatIsNoPlanForTheseKindsIsRefused) {
  const Kinds kinds = job(1);
  const JointPlan wanted = *planner::make_plans(kinds, thorough());
  std::map<std::string, RankStore::Value> values;
  values["garbage"] = RankStore::Value(5000, std::byte{42});
  values["of another job"] = bytes_of(planner::make_plans(job(2), thorough())->plans);
  values["one kind short"] = bytes_of({wanted.plans.begin(), wanted.plans.end() - 1});
  values["damaged"] = bytes_of(wanted.plans);
  values["damaged"][100] ^= std::byte{1};
  values["cut"] = bytes_of(wanted.plans);
  values["cut"].resize(200);
  for (const auto& [what, value] : values) {
    server = std::make_shared<FakeServer>();
    put(kinds, value);
    Rank rank(server, 1);
    expect_same_but_for_times(rank.plan(kinds), wanted);
    EXPECT_EQ(rank.sharing.facts().plans.refused, 1u) << what;
    EXPECT_EQ(rank.sharing.facts().plans.received, 0u) << what;
    EXPECT_EQ(rank.sharing.facts().plans.made, 1u) << what;
  }
}

TEST_F(RankSharingTest, WhatCannotBePlannedIsToldToo) {
  Rank first(server, 0);
  EXPECT_FALSE(first.sharing.plan_maker()(Kinds{}, thorough(), {}).ok());
  Rank second(server, 1);
  EXPECT_FALSE(second.sharing.plan_maker()(Kinds{}, thorough(), {}).ok());
  EXPECT_EQ(second.sharing.facts().looks, 1u) << "it waited";
  EXPECT_EQ(first.sharing.facts().plans.made + second.sharing.facts().plans.made, 0u);
}

TEST_F(RankSharingTest, ACancelledRankTellsNothing) {
  Rank rank(server, 0);
  rank.stop.request_stop();
  EXPECT_FALSE(rank.sharing.plan_maker()(job(1), thorough(), rank.stop.get_token()).ok());
  EXPECT_TRUE(server->values().empty());
}

TEST_F(RankSharingTest, NothingIsSharedWhereNobodyIsOrWants) {
  FakeTorch torch;
  RankSharing alone(torch, limits_of(60s));
  const Kinds kinds = job(1);
  EXPECT_TRUE(alone.plan_maker()(kinds, thorough(), {}).ok());
  torch.ranks = fake_group(server, 0, 1);
  EXPECT_TRUE(alone.plan_maker()(kinds, thorough(), {}).ok());
  EXPECT_EQ(alone.facts().ranks, 0u);
  torch.ranks = fake_group(server, 0, 4);
  Settings settings;
  settings.share_plans = false;
  RankSharing off(settings, torch);
  EXPECT_TRUE(off.plan_maker()(kinds, thorough(), {}).ok());
  EXPECT_EQ(off.facts().ranks, 0u);
  EXPECT_TRUE(server->values().empty());
}

}  // namespace
}  // namespace stowage::session
