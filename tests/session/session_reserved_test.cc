// The guard of reserved memory: a plan is followed only while arena and upstream together take no more than
// the job was seen to need without one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "session/session.h"
#include "tests/session/changed_plans.h"
#include "tests/session/fake_port.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

/// Leaves `waste` bytes at the bottom of the arena unused.
ChangedPlans::Change wasteful(Bytes waste) {
  return [waste](Plan& plan) {
    for (PlanEntry& entry : plan.entries) {
      if (entry.offset != kUpstream) entry.offset = entry.offset + waste;
    }
    plan.height += waste;
  };
}

struct ReservedTest : testing::Test {
  void start(Bytes waste, const std::string& plan_cache = "") {
    port.caches = true;
    settings.plan_cache = plan_cache;
    settings.plan_wait_ms = 60'000;
    session = std::make_unique<Session>(port, no_torch(), settings,
                                        std::make_unique<ChangedPlans>(wasteful(waste)));
    job = std::make_unique<FakeJob>(port, *session);
  }
  /// Blocks of one MiB each, all alive at once, then one of `extra` bytes alone.
  void iterate(std::uint64_t extra = 0) {
    std::vector<void*> live;
    for (int i = 0; i < 12; ++i) live.push_back(job->allocate(kMib));
    for (void* address : live) job->free(address);
    if (extra != 0) job->free(job->allocate(extra));
    session->on_mark(MarkSource::kOptimizer);
  }
  void record(std::uint64_t extra = 0) {
    for (int i = 0; i < 6 && session->state() == SessionState::kRecording; ++i) iterate(extra);
  }
  nlohmann::json report() { return nlohmann::json::parse(session->report_json()); }

  FakePort port;
  Settings settings;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
};

TEST_F(ReservedTest, APlanThatNeedsNoMoreIsFollowed) {
  start(Bytes(0));
  record();
  for (int i = 0; i < 20; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kPlanned) << report();
  EXPECT_EQ(session->arena_bytes(), Bytes(12 * kMib));
}

TEST_F(ReservedTest, APlanThatWouldNeedMoreIsNotFollowedAndTheReportSaysWhy) {
  start(Bytes(8 * kMib));
  testing::internal::CaptureStderr();
  record();
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_EQ(port.maps, 0);
  EXPECT_EQ(report()["reason"],
            "with its plan the job would reserve 20 MiB, and 13 MiB are enough without one");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("enough without one; the job goes on without a plan"), std::string::npos) << said;
  for (int i = 0; i < 3; ++i) iterate();
  EXPECT_EQ(port.upstream_use().reserved, Bytes(12 * kMib));
}

TEST_F(ReservedTest, ParametersAreExpectedUntilSomethingIsFreed) {
  port.info.device.kind = DeviceKind::kCuda;
  start(Bytes(0));
  EXPECT_TRUE(session->expects_parameters());
  job->allocate(kMib);
  EXPECT_TRUE(session->expects_parameters());
  job->free(job->allocate(kMib));
  EXPECT_FALSE(session->expects_parameters());
  record();
  EXPECT_FALSE(session->expects_parameters());
}

TEST_F(ReservedTest, ParametersAreNotExpectedWhereTheJobBeganBefore) {
  port.info.device.kind = DeviceKind::kCuda;
  void* const before = port.allocate(Bytes(kMib));
  start(Bytes(0));
  EXPECT_FALSE(session->expects_parameters());
  port.give_back(before);
}

// Recording took 12 MiB; expandable segments alone take a page of their own for a block above 1 MiB.
TEST_F(ReservedTest, APlanIsFollowedThatNeedsWhatExpandableSegmentsAloneWouldReserve) {
  port.info.device.kind = DeviceKind::kCuda;
  start(Bytes(8 * kMib));
  record(2 * kMib);
  EXPECT_EQ(session->state(), SessionState::kPlanned) << report();
}

TEST_F(ReservedTest, ExpandableSegmentsReserveNoMoreThanTheDeviceHas) {
  port.info.device.kind = DeviceKind::kCuda;
  port.info.device_memory = Bytes(16 * kMib);
  start(Bytes(8 * kMib));
  record(2 * kMib);
  EXPECT_EQ(session->state(), SessionState::kOff) << report();
}

TEST_F(ReservedTest, APlanBesideWhichUpstreamGrowsIsLeftAndItsArenaGoesBack) {
  start(Bytes(0));
  record();
  for (int i = 0; i < 4; ++i) iterate();
  ASSERT_EQ(session->state(), SessionState::kPlanned) << report();
  int iterations = 0;
  while (session->state() == SessionState::kPlanned && iterations < 20)
    iterate(13 * kMib + 512u * ++iterations);
  EXPECT_LE(iterations, 5);
  EXPECT_EQ(session->state(), SessionState::kRecording) << "the job may be another by now";
  EXPECT_EQ(session->arena_bytes(), Bytes(0));
  while (session->state() != SessionState::kOff && iterations < 80) iterate(13 * kMib + 512u * ++iterations);
  EXPECT_LE(port.upstream_use().peak_reserved, Bytes(14 * kMib)) << "the largest request alone";
}

TEST_F(ReservedTest, APlanThatIsLeftForMemoryIsNotInTheCacheForTheNextRun) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("stowage-left-" + std::to_string(getpid()));
  start(Bytes(0), folder.string());
  record();
  ASSERT_EQ(session->state(), SessionState::kPlanned) << report();
  EXPECT_FALSE(fs::is_empty(folder));
  int iterations = 0;
  while (session->state() == SessionState::kPlanned && iterations < 20)
    iterate(13 * kMib + 512u * ++iterations);
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

TEST_F(ReservedTest, WhatTensorsHoldAtOneTimeIsNoReason) {
  start(Bytes(0));
  record();
  for (int i = 0; i < 4; ++i) iterate();
  ASSERT_EQ(session->state(), SessionState::kPlanned) << report();
  void* const lasting = job->allocate(64 * kMib);  // the job needs it, with a plan or without
  for (int i = 0; i < 20; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kPlanned) << report();
  job->free(lasting);
}

TEST_F(ReservedTest, ALowerPlacementThatIsFoundWhileThePlanServesIsExchangedForIt) {
  settings.plan_seconds = 1e-9;  // so the job has run for long
  start(Bytes(kMib));
  record();
  ASSERT_EQ(session->state(), SessionState::kPlanned) << report();
  void* const kept = job->allocate(kMib);
  ASSERT_TRUE(session->owns(kept));
  for (int i = 0; i < 3; ++i) iterate();
  EXPECT_LE(session->arena_bytes(), Bytes(13 * kMib)) << "with what is kept: " << report();
  EXPECT_EQ(report()["plans"].size(), 1u);
  EXPECT_LE(report()["plans"][0]["height_bytes"], 13 * kMib);
  EXPECT_TRUE(session->owns(kept)) << "what lives in it stays";
  job->free(kept);
  for (int i = 0; i < 2; ++i) iterate();
  EXPECT_EQ(report()["last_iteration_misses"], 0);
}

}  // namespace
}  // namespace stowage::session
