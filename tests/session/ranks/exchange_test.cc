#include "session/ranks/exchange.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/session/ranks/fake_ranks.h"

namespace stowage::session {
namespace {

using namespace std::chrono_literals;
using Value = RankStore::Value;

const Value kResult(1000, std::byte{7});

/// So patient that only an answer ends a wait.
ExchangeLimits patient() {
  ExchangeLimits limits;
  limits.call = limits.patience = 60s;
  return limits;
}

ExchangeLimits hasty() {
  ExchangeLimits limits;
  limits.call = limits.patience = 30ms;
  return limits;
}

struct ExchangeTest : testing::Test {
  ~ExchangeTest() override { server->let_go(); }
  RankGroup group(std::uint64_t rank, int throws_from = kNever) const {
    return fake_group(server, rank, 4, throws_from);
  }
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  std::stop_source stop;
};

TEST_F(ExchangeTest, OneOfSeveralRanksWorksForAll) {
  std::atomic<int> works{0};
  std::atomic<int> same{0};
  std::vector<std::jthread> ranks;
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      Exchange exchange(group(rank), "work", patient(), stop.get_token());
      const std::optional<Value> received = exchange.claim_or_receive();
      same += received == kResult ? 1 : 0;
      if (received) return;
      ++works;
      ASSERT_TRUE(exchange.claimed());
      exchange.publish(kResult, true);
      EXPECT_EQ(exchange.counts().sent_bytes, kResult.size());
    });
  }
  ranks.clear();
  EXPECT_EQ(works, 1);
  EXPECT_EQ(same, 3);
}

TEST_F(ExchangeTest, WhoComesLateFindsTheResultAtOnce) {
  Exchange first(group(0), "work", patient(), stop.get_token());
  EXPECT_FALSE(first.claim_or_receive());
  first.publish(kResult, true);
  Exchange late(group(1), "work", patient(), stop.get_token());
  EXPECT_EQ(late.claim_or_receive(), kResult);
  EXPECT_EQ(late.counts().looks, 1u);
  EXPECT_EQ(late.counts().received_bytes, kResult.size());
  Exchange other(group(1), "other work", patient(), stop.get_token());
  EXPECT_FALSE(other.claim_or_receive());
  EXPECT_TRUE(other.claimed());
}

TEST_F(ExchangeTest, AFailureIsToldSoThatNobodyWaits) {
  Exchange first(group(0), "work", patient(), stop.get_token());
  EXPECT_FALSE(first.claim_or_receive());
  first.publish({}, true);
  Exchange second(group(1), "work", patient(), stop.get_token());
  EXPECT_FALSE(second.claim_or_receive());
  EXPECT_FALSE(second.claimed());
}

TEST_F(ExchangeTest, WhatNobodyAskedForIsNotSent) {
  Exchange alone(group(0), "work", patient(), stop.get_token());
  EXPECT_FALSE(alone.claim_or_receive());
  alone.publish(kResult, false);
  EXPECT_EQ(alone.counts().sent_bytes, 0u);
  EXPECT_EQ(server->get("work"), Value()) << "but that it was made is told";

  Exchange asked(group(0), "more", patient(), stop.get_token());
  EXPECT_FALSE(asked.claim_or_receive());
  server->add("more/claims/0", 1);
  asked.publish(kResult, false);
  EXPECT_EQ(server->get("more"), kResult);
}

TEST_F(ExchangeTest, WhatIsTooLargeIsNotSent) {
  ExchangeLimits limits = patient();
  limits.most_bytes = kResult.size() - 1;
  Exchange exchange(group(0), "work", limits, stop.get_token());
  EXPECT_FALSE(exchange.claim_or_receive());
  exchange.publish(kResult, true);
  EXPECT_EQ(server->get("work"), Value());
}

TEST_F(ExchangeTest, AClaimantThatDiesIsReplaced) {
  server->add("work/claims/0", 1);
  Exchange next(group(1), "work", hasty(), stop.get_token());
  EXPECT_FALSE(next.claim_or_receive());
  EXPECT_TRUE(next.claimed());
  EXPECT_GT(next.counts().looks, 1u);
  next.publish(kResult, true);
  Exchange last(group(2), "work", hasty(), stop.get_token());
  EXPECT_EQ(last.claim_or_receive(), kResult);
}

TEST_F(ExchangeTest, WhereAllClaimantsDieEverybodyWorks) {
  server->add("work/claims/0", 1);
  server->add("work/claims/1", 1);
  Exchange last(group(2), "work", hasty(), stop.get_token());
  EXPECT_FALSE(last.claim_or_receive());
  EXPECT_FALSE(last.claimed());
  EXPECT_TRUE(last.counts().failure.empty());
}

TEST_F(ExchangeTest, AStoreThatThrowsEndsSharing) {
  for (int calls = 0; calls < 3; ++calls) {
    const std::string name = "work" + std::to_string(calls);
    if (calls == 1) server->add(name + "/claims/0", 1);
    Exchange exchange(group(0, calls), name, patient(), stop.get_token());
    EXPECT_FALSE(exchange.claim_or_receive());
    if (exchange.claimed()) exchange.publish(kResult, false);
    EXPECT_NE(exchange.counts().failure.find("connection reset by peer"), std::string::npos) << calls;
  }
}

TEST_F(ExchangeTest, AStoreThatHangsIsLeft) {
  server->hang();
  Exchange exchange(group(0), "work", hasty(), stop.get_token());
  EXPECT_FALSE(exchange.claim_or_receive());
  EXPECT_FALSE(exchange.claimed());
  EXPECT_NE(exchange.counts().failure.find("in time"), std::string::npos);
}

TEST_F(ExchangeTest, AStoreThatHangsLaterIsLeft) {
  Exchange exchange(group(0), "work", hasty(), stop.get_token());
  EXPECT_FALSE(exchange.claim_or_receive());
  ASSERT_TRUE(exchange.claimed());
  server->hang();
  exchange.publish(kResult, true);
  EXPECT_NE(exchange.counts().failure.find("in time"), std::string::npos);
}

TEST_F(ExchangeTest, AStopEndsEveryWait) {
  server->add("work/claims/0", 1);
  std::jthread stopper([this] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  Exchange waiting(group(1), "work", patient(), stop.get_token());
  EXPECT_FALSE(waiting.claim_or_receive());
  EXPECT_FALSE(waiting.claimed());
}

TEST_F(ExchangeTest, AStopEndsAHangingCall) {
  server->hang();
  std::jthread stopper([this] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  Exchange hanging(group(1), "work", patient(), stop.get_token());
  EXPECT_FALSE(hanging.claim_or_receive());
}

TEST_F(ExchangeTest, AFailedConnectionIsAFailure) {
  RankGroup broken = group(0);
  broken.connect = []() -> Result<std::unique_ptr<RankStore>> {
    return Error{ErrorCode::kNotFound, "the process group is gone"};
  };
  Exchange exchange(broken, "work", patient(), stop.get_token());
  EXPECT_FALSE(exchange.claim_or_receive());
  EXPECT_EQ(exchange.counts().failure, "the process group is gone");
}

}  // namespace
}  // namespace stowage::session
