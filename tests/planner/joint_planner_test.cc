#include "planner/joint_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "planner/kinds/kind_book.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner {
namespace {

bool all(std::uint64_t) { return true; }

JointPlan planned(const Kinds& kinds, const JointOptions& options = patient()) {
  Result<JointPlan> made = make_plans(kinds, options);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? *made : JointPlan{};
}

/// Live blocks of an arena, by an account of its own.
class Account {
 public:
  bool take(Offset offset, Bytes size) {
    const auto above = live_.lower_bound(offset.value());
    if (above != live_.end() && above->first < (offset + size).value()) return false;
    if (above != live_.begin() && std::prev(above)->second > offset.value()) return false;
    live_[offset.value()] = (offset + size).value();
    return true;
  }
  void free(Offset offset) { live_.erase(offset.value()); }

 private:
  std::map<std::uint64_t, std::uint64_t> live_;
};

/// Follows the plans over a whole trace, and counts the requests that find their slots in use.
int slots_in_use(const Trace& trace, const JointPlan& plans, const std::vector<Tenant>& tenants = {}) {
  struct Event {
    Tick tick;
    std::size_t buffer;
    bool birth;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < trace.buffers.size(); ++i) {
    events.push_back({trace.buffers[i].birth, i, true});
    if (trace.buffers[i].death != kNever) events.push_back({trace.buffers[i].death, i, false});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.tick < b.tick; });
  Account account;
  for (const Tenant& tenant : tenants) EXPECT_TRUE(account.take(tenant.offset, tenant.rounded));
  std::map<std::size_t, Offset> placed;
  std::size_t window = 0, entry = 0;
  int misses = 0;
  for (const Event& event : events) {
    const Buffer& buffer = trace.buffers[event.buffer];
    if (!event.birth) {
      if (const auto at = placed.find(event.buffer); at != placed.end()) account.free(at->second);
      continue;
    }
    while (window + 1 < trace.marks.size() && buffer.birth >= trace.marks[window + 1].tick)
      ++window, entry = 0;
    const PlanEntry& planned = plans.plans[plans.history[window]].entries[entry++];
    EXPECT_EQ(planned.rounded, buffer.rounded);
    if (planned.offset == kUpstream) continue;
    bool found = false;
    for (const Offset offset : {planned.offset, planned.spare}) {
      if (found || offset == kUpstream || !account.take(offset, planned.rounded)) continue;
      placed[event.buffer] = offset;
      found = true;
    }
    misses += found ? 0 : 1;
  }
  return misses;
}

TEST(MakePlans, AnyAutomatonFollowsItsPlansWithoutASlotInUse) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    AutomatonOptions options;
    options.kinds = 1 + static_cast<int>(seed % 6);
    const Trace trace = trace_of(run_automaton(seed, options));
    const JointPlan plans = planned(kinds_of(trace));
    EXPECT_EQ(slots_in_use(trace, plans), 0) << "seed " << seed;
    EXPECT_LE(plans.lower_bound, plans.height);
  }
}

TEST(MakePlans, OneHeightIsNearOneBound) {
  double sum = 0, most = 0;
  int count = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed, ++count) {
    AutomatonOptions options;
    options.kinds = 2 + static_cast<int>(seed % 4);
    options.most_allocations = 120;
    const JointPlan plans = planned(kinds_of(trace_of(run_automaton(seed, options))));
    const double ratio =
        static_cast<double>(plans.height.value()) / static_cast<double>(plans.lower_bound.value());
    sum += ratio;
    most = std::max(most, ratio);
  }
  RecordProperty("mean", std::to_string(sum / count));
  RecordProperty("most", std::to_string(most));
  EXPECT_LE(sum / count, 1.10);
}

TEST(MakePlans, KindsThatBeginAlikeHaveTheseAddressesInCommon) {
  const Job job = random_job(400, 5);
  Job shorter = job;
  shorter.layers.resize(job.layers.size() - job.layers.size() / 8);
  KindBook book;
  ASSERT_TRUE(book.observe(training_trace(job, 4), all));
  ASSERT_TRUE(book.observe(training_trace(shorter, 4), all));
  const JointPlan plans = planned(book.kinds());
  ASSERT_GE(plans.plans.size(), 2u);
  const Plan &one = plans.plans.front(), &other = plans.plans.back();
  std::size_t alike = 0;
  for (std::size_t i = 0; i < one.entries.size() && i < other.entries.size(); ++i) {
    if (one.entries[i].rounded != other.entries[i].rounded) break;
    alike += one.entries[i].offset == other.entries[i].offset ? 1 : 0;
  }
  EXPECT_GT(alike, other.entries.size() / 4);
}

TEST(MakePlans, PlansInUseStayWhereTheyAreIfThatIsGoodEnough) {
  const Trace trace = training_trace(unet(), 4);
  const Kinds first = kinds_of(trace);
  JointOptions options = patient();
  options.in_use = planned(first).plans;
  const JointPlan again = planned(first, options);
  ASSERT_EQ(again.plans.size(), options.in_use.size());
  for (std::size_t i = 0; i < again.plans.size(); ++i)
    EXPECT_EQ(again.plans[i].entries, options.in_use[i].entries);
}

TEST(MakePlans, PlansInUseThatOverlapByWhatIsKnownNowAreReplaced) {
  const Trace trace = trace_of(run_automaton(3));
  const Kinds kinds = kinds_of(trace);
  JointOptions options = patient();
  options.in_use = planned(kinds).plans;
  for (Plan& plan : options.in_use) {
    for (PlanEntry& entry : plan.entries) {
      if (entry.offset != kUpstream) entry.offset = Offset(512);
    }
  }
  EXPECT_EQ(slots_in_use(trace, planned(kinds, options)), 0);
}

TEST(MakePlans, TenantsAreLeftWhereTheyAre) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Trace trace = trace_of(run_automaton(seed));
    const Kinds kinds = kinds_of(trace);
    JointOptions options = patient();
    options.in_use = planned(kinds).plans;
    const Bytes height = planned(kinds).height;
    options.tenants = {{Offset(0), Bytes(1024), StreamId(0)},
                       {Offset(height.value() / 1024 * 512), Bytes(4096), StreamId(0)}};
    const JointPlan around = planned(kinds, options);
    EXPECT_EQ(slots_in_use(trace, around, options.tenants), 0) << seed;
  }
}

TEST(MakePlans, NoWorkIsDoneOnThoseThatAreKnownToBeTooHigh) {
  int higher = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Kinds kinds = kinds_of(trace_of(run_automaton(seed)));
    JointOptions options = patient();
    options.work_limit = 100'000;
    const JointPlan before = planned(kinds);
    options.in_use = before.plans;
    for (std::uint64_t at = 0; at < 4; ++at)
      options.tenants.push_back({Offset(before.height.value() / 2048 * 512 * at), Bytes(512), StreamId(0)});
    const JointPlan around = planned(kinds, options);
    options.most = around.height;
    EXPECT_EQ(planned(kinds, options).height, around.height) << seed;
    options.most = before.lower_bound - Bytes(512);
    const JointPlan hopeless = planned(kinds, options);
    EXPECT_GE(hopeless.height, around.height) << seed;
    if (hopeless.height > around.height) ++higher;
  }
  EXPECT_GT(higher, 0);
}

TEST(MakePlans, StreamsShareNoAddresses) {
  const JointPlan plans = planned(kinds_of(training_trace(bert(), 4)));
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> extents;
  for (const Plan& plan : plans.plans) {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.offset == kUpstream) continue;
      auto& [low, high] = extents.try_emplace(entry.stream.value(), ~std::uint64_t{0}, 0).first->second;
      low = std::min(low, entry.offset.value());
      high = std::max(high, (entry.offset + entry.rounded).value());
    }
  }
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_TRUE(extents[0].second <= extents[1].first || extents[1].second <= extents[0].first);
}

TEST(MakePlans, WhatAnotherStreamHasInTheArenaIsLeftToIt) {
  const Kinds kinds = kinds_of(trace_of(run_automaton(3)));
  JointOptions options = patient();
  const Bytes height = planned(kinds).height;
  const Offset begin(height.value() / 1024 * 512);
  options.claimed = {{StreamId(0), Offset(0), begin}, {StreamId(7), begin, begin + Bytes(4096)}};
  for (const Plan& plan : planned(kinds, options).plans) {
    for (const PlanEntry& entry : plan.entries) {
      for (const Offset offset : {entry.offset, entry.spare}) {
        if (offset == kUpstream) continue;
        EXPECT_TRUE(offset + entry.rounded <= begin || offset >= begin + Bytes(4096));
      }
    }
  }
}

TEST(MakePlans, TheSamePlansWithAnyNumberOfThreads) {
  const Kinds kinds = kinds_of(trace_of(run_automaton(11)));
  const JointPlan first = planned(kinds);
  for (const int threads : {1, 2, 8}) {
    JointOptions options = patient();
    options.threads = threads;
    const JointPlan other = planned(kinds, options);
    for (std::size_t i = 0; i < first.plans.size(); ++i)
      EXPECT_EQ(other.plans[i].entries, first.plans[i].entries);
  }
}

TEST(MakePlans, WithoutAKindThereIsNoPlan) {
  EXPECT_EQ(make_plans({}, {}).error().code, ErrorCode::kUnplannable);
}

TEST(MakePlans, AStopThatWasAskedForBeforeCancels) {
  std::stop_source stop;
  stop.request_stop();
  const auto made = make_plans(kinds_of(trace_of(run_automaton(1))), {}, stop.get_token());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace stowage::planner
