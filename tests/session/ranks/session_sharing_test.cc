// Sessions that are ranks of one job: they get to their plans together, whatever becomes of one of them.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "tests/session/fake_port.h"
#include "tests/session/fake_torch.h"
#include "tests/session/ranks/fake_ranks.h"

namespace stowage::session {
namespace {

using Json = nlohmann::json;

/// A rank's whole process.
struct Process {
  Process(const std::shared_ptr<FakeServer>& server, std::uint64_t rank, int throws_from = kNever) {
    torch.ranks = fake_group(server, rank, 4, throws_from);
    Settings settings;
    settings.plan_wait_ms = 60'000;
    session = std::make_unique<Session>(port, torch, settings);
    job = std::make_unique<FakeJob>(port, *session);
  }
  void train(int count) {
    for (int i = 0; i < 10; ++i) job->iterate(count);
  }
  [[nodiscard]] Json report() const { return Json::parse(session->report_json()); }

  FakePort port;
  FakeTorch torch;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
};

struct SessionSharingTest : testing::Test {
  ~SessionSharingTest() override { server->let_go(); }
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
};

TEST_F(SessionSharingTest, FourRanksTrainUnderThePlanOfOne) {
  std::vector<std::unique_ptr<Process>> ranks;
  for (std::uint64_t rank = 0; rank < 4; ++rank) ranks.push_back(std::make_unique<Process>(server, rank));
  {
    std::vector<std::jthread> threads;
    for (const auto& rank : ranks) threads.emplace_back([&rank] { rank->train(8); });
  }
  int made = 0;
  for (const auto& rank : ranks) {
    const Json report = rank->report();
    EXPECT_EQ(report["state"], "planned");
    EXPECT_EQ(report["last_iteration_misses"], 0);
    EXPECT_EQ(report["plans"], ranks[0]->report()["plans"]);
    EXPECT_EQ(report["sharing"]["digest"], ranks[0]->report()["sharing"]["digest"]);
    EXPECT_EQ(report["sharing"]["failures"], 0);
    made += report["sharing"]["plans_made"].get<int>();
  }
  EXPECT_EQ(made, 1);
}

TEST_F(SessionSharingTest, EachStageOfAPipelineHasItsOwnPlan) {
  Process first(server, 0);
  Process second(server, 1);
  first.train(8);
  second.train(5);
  EXPECT_NE(first.report()["plans"], second.report()["plans"]);
  for (const Process* rank : {&first, &second}) {
    EXPECT_EQ(rank->report()["state"], "planned");
    EXPECT_EQ(rank->report()["sharing"]["plans_received"], 0);
  }
}

TEST_F(SessionSharingTest, ARankWhoseStoreThrowsIsPlannedAllTheSame) {
  Process rank(server, 0, /*throws_from=*/0);
  rank.train(8);
  EXPECT_EQ(rank.report()["state"], "planned");
  EXPECT_EQ(rank.report()["sharing"]["failures"], 1);
}

// Nobody waits for the store but the planner's own threads; a session ends while they do.
TEST_F(SessionSharingTest, AStoreThatHangsHoldsUpNeitherTheJobNorItsEnd) {
  server->hang();
  FakePort port;
  FakeTorch torch;
  torch.ranks = fake_group(server, 0, 4);
  Settings settings;
  settings.plan_wait_ms = 0;
  auto session = std::make_unique<Session>(port, torch, settings);
  FakeJob job(port, *session);
  for (int i = 0; i < 10; ++i) job.iterate();
  EXPECT_EQ(session->state(), SessionState::kPlanning);
  session.reset();
}

TEST_F(SessionSharingTest, OneProcessAloneReportsNothingOfIt) {
  Process rank(server, 0);
  rank.torch.ranks.reset();
  rank.train(8);
  EXPECT_EQ(rank.report()["state"], "planned");
  EXPECT_FALSE(rank.report().contains("sharing"));
}

}  // namespace
}  // namespace stowage::session
