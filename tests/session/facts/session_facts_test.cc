#include "session/facts/session_facts.h"

#include <gtest/gtest.h>

#include "tests/session/plans/joint.h"

namespace stowage::session {
namespace {

UpstreamUse use(std::uint64_t allocated, std::uint64_t reserved, std::uint64_t peak_allocated = 0,
                std::uint64_t peak_reserved = 0) {
  return {Bytes(allocated), Bytes(reserved), Bytes(peak_allocated), Bytes(peak_reserved)};
}

Plan plan_of(std::size_t entries, std::uint64_t fingerprint) {
  Plan plan;
  plan.entries.resize(entries);
  plan.fingerprint = fingerprint;
  return plan;
}

TEST(SessionFacts, TheFirstReasonStays) {
  SessionFacts facts;
  EXPECT_FALSE(facts.has_reason());
  facts.give_reason("no room");
  facts.give_reason("stopped on request");
  EXPECT_TRUE(facts.has_reason());
  EXPECT_EQ(facts.all().reason, "no room");
}

TEST(SessionFacts, TheNeedIsTheMostSeenWithoutAPlan) {
  SessionFacts facts;
  facts.note_before(use(60, 100), 0);
  facts.note_before(use(70, 80), 3);
  EXPECT_EQ(facts.need(Bytes(0), Bytes(0)), Bytes(100));
  EXPECT_EQ(facts.all().peak_live_before, Bytes(70));
  EXPECT_EQ(facts.all().dropped_events, 3u);
  facts.note_before(use(0, 0, 90, 130), 0);
  EXPECT_EQ(facts.need(Bytes(0), Bytes(0)), Bytes(130));
  EXPECT_EQ(facts.all().peak_live_before, Bytes(90));
}

TEST(SessionFacts, WhatLastsComesOnTop) {
  SessionFacts facts;
  facts.note_before(use(60, 100), 0);
  EXPECT_EQ(facts.need(Bytes(0), Bytes(20)), Bytes(120));
}

TEST(SessionFacts, NoAllocatorDoesWithLessThanLivesAtOneTime) {
  SessionFacts facts;
  facts.note_before(use(60, 100), 0);
  EXPECT_EQ(facts.need(Bytes(150), Bytes(0)), Bytes(150));
  EXPECT_EQ(facts.need(Bytes(140), Bytes(0)), Bytes(150)) << "what was seen once is not forgotten";
  facts.note_peak_before(Bytes(170));
  EXPECT_EQ(facts.need(Bytes(0), Bytes(0)), Bytes(170));
}

TEST(SessionFacts, WhatOnlyRecordingTookIsNoNeed) {
  SessionFacts facts;
  facts.note_before(use(60, 200), 0);
  facts.note_modelled(Bytes(150), Bytes(10));
  EXPECT_EQ(facts.need(Bytes(0), Bytes(0)), Bytes(160));
  EXPECT_EQ(facts.modelled(), Bytes(150));
  facts.note_modelled(Bytes(300), Bytes(10));
  EXPECT_EQ(facts.need(Bytes(0), Bytes(0)), Bytes(200)) << "the model takes more: nothing is taken off";
}

TEST(SessionFacts, PlansAreKeptInOutline) {
  SessionFacts facts;
  facts.count_iteration();
  facts.count_iteration();
  facts.use_plans(joint_of({plan_of(3, 1)}));
  facts.count_iteration();
  facts.use_plans(joint_of({plan_of(3, 1), plan_of(5, 2)}));
  const Facts all = facts.all();
  ASSERT_EQ(all.plans.size(), 2u);
  EXPECT_TRUE(all.plans[0].entries.empty());
  EXPECT_EQ(all.plan_entries, (std::vector<std::size_t>{3, 5}));
  EXPECT_EQ(all.switched_at, 2u) << "the first switch";
  facts.use_plans(joint_of({plan_of(7, 3)}));
  EXPECT_EQ(facts.all().plan_entries, std::vector<std::size_t>{7});
  EXPECT_EQ(facts.count_replan(), 1u);
  EXPECT_TRUE(facts.all().plans.empty());
  EXPECT_EQ(facts.count_replan(), 2u);
}

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const Phase& phase : trace.phases) names.push_back(trace.names[phase.name]);
  return names;
}

TEST(Phases, AreInOrderAndEachOnce) {
  SessionFacts facts;
  for (const char* const name : {"recording", "recording", "planning", "planned", "recording"})
    facts.note_phase(name);
  Trace recorded;
  recorded.names = {"aten::mm"};
  recorded.clock_realtime_ns = facts.all().phases.front().realtime_ns;
  const Trace trace = facts.with_phases(recorded);
  EXPECT_EQ(names_of(trace),
            (std::vector<std::string>{"recording", "planning", "planned", "recording", "trace written"}));
  EXPECT_EQ(trace.names.front(), "aten::mm");
  EXPECT_EQ(trace.phases.front().begin_ns, 0u);
  EXPECT_TRUE(trace.validate().ok());
}

TEST(Phases, OneFromBeforeTheTraceBeganBeginsWithIt) {
  SessionFacts facts;
  facts.note_phase("recording");
  Trace later;
  later.clock_realtime_ns = facts.all().phases.front().realtime_ns + 1'000'000'000;
  facts.note_phase("planning");
  const Trace trace = facts.with_phases(later);
  EXPECT_EQ(trace.phases[0].begin_ns, 0u);
  EXPECT_TRUE(trace.validate().ok());
}

}  // namespace
}  // namespace stowage::session
