// Each rule of planner/lifetimes.h, on traces of two windows written by hand.
#include "planner/lifetimes.h"

#include <gtest/gtest.h>

#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

/// Two windows of three allocations; `deaths` frees in between are scripted as a function of the window.
class TwoWindows {
 public:
  std::uint32_t ids[2][3] = {};
  TraceBuilder builder;
  Tick begins[3] = {};

  void begin(int w) { begins[w] = builder.now(); }
  void alloc(int w, int k) { ids[w][k] = builder.alloc(512 * (static_cast<std::uint64_t>(k) + 1)); }
  void free(int w, int k) { builder.free(ids[w][k]); }
  void end(int w) {
    builder.mark();
    begins[w + 1] = builder.now();
  }
  Lifetimes lifetimes() {
    auto found = find_lifetimes(builder.take(begins[0], begins[1], begins[2]));
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    return found.ok() ? *found : Lifetimes{};
  }
};

/// [birth, death) of the item for `entry`, or {0, 0} if it is upstream.
std::pair<std::uint64_t, std::uint64_t> life(const Lifetimes& l, std::uint32_t entry) {
  for (std::size_t i = 0; i < l.slots.size(); ++i) {
    if (l.slots[i].entry == entry) return {l.problem.items[i].birth, l.problem.items[i].death};
  }
  return {0, 0};
}

using Span = std::pair<std::uint64_t, std::uint64_t>;

TEST(Lifetimes, TransientTakesTheLaterDeathOfBothWindows) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    t.alloc(w, 0);
    if (w == 1) t.free(w, 0);
    t.alloc(w, 1);
    if (w == 0) t.free(w, 0);
    t.free(w, 1);
    t.alloc(w, 2);
    t.free(w, 2);
    t.end(w);
  }
  const Lifetimes l = t.lifetimes();
  EXPECT_EQ(l.problem.period, 3u);
  EXPECT_EQ(life(l, 0), Span(0, 2));
  EXPECT_EQ(life(l, 1), Span(1, 2));
  EXPECT_EQ(life(l, 2), Span(2, 3));
  EXPECT_TRUE(l.inner_marks.empty());
}

/// Buffer 0 lives to the window's end; buffer `who` dies in the next window before allocation `before`.
Lifetimes crossing(int who, int before) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    for (int k = 0; k < 3; ++k) {
      if (w > 0 && k == before) t.free(w - 1, who);
      t.alloc(w, k);
    }
    for (int k = 0; k < 3; ++k) {
      if (k != who) t.free(w, k);
    }
    t.end(w);
  }
  return t.lifetimes();
}

TEST(Lifetimes, ABufferThatDiesBeforeItsSuccessorIsCyclic) {
  const Lifetimes l = crossing(2, 1);
  EXPECT_EQ(l.classes[2], LifeClass::kCyclic);
  EXPECT_EQ(life(l, 2), Span(2, 4));
}

TEST(Lifetimes, ADeathRightBeforeTheSuccessorsBirthStillMakesRoomForIt) {
  const Lifetimes l = crossing(1, 1);
  EXPECT_EQ(l.classes[1], LifeClass::kCyclic);
  EXPECT_EQ(life(l, 1), Span(1, 4));
}

TEST(Lifetimes, ADeathBeforeTheFirstAllocationEndsWithTheWindow) {
  const Lifetimes l = crossing(1, 0);
  EXPECT_EQ(l.classes[1], LifeClass::kTransient);
  EXPECT_EQ(life(l, 1), Span(1, 3));
}

TEST(Lifetimes, ABufferThatOverlapsItsSuccessorGetsTwoSlots) {
  const Lifetimes l = crossing(0, 1);
  EXPECT_EQ(l.classes[0], LifeClass::kTwoSlots);
  ASSERT_EQ(l.slots.size(), 4u);
  EXPECT_FALSE(l.slots[0].spare);
  EXPECT_TRUE(l.slots[1].spare);
  for (std::size_t i : {0u, 1u})
    EXPECT_EQ(l.problem.items[i].death - l.problem.items[i].birth, l.problem.period);
}

TEST(Lifetimes, OneThatNeverDiesIsUpstreams) {
  const Lifetimes l = crossing(1, -1);
  EXPECT_EQ(l.classes[1], LifeClass::kUpstream);
  EXPECT_EQ(l.entries.size(), 3u);
  EXPECT_EQ(l.entries[1].offset, kUpstream);
  EXPECT_EQ(life(l, 1), Span(0, 0));
}

TEST(Lifetimes, CrossesIsWhatLivesWhenTheIterationEnds) {
  const auto marked = [](const Lifetimes& l) {
    std::vector<bool> crosses;
    for (const PlanEntry& entry : l.entries) crosses.push_back(entry.crosses);
    return crosses;
  };
  using Marked = std::vector<bool>;
  EXPECT_EQ(marked(crossing(2, 1)), Marked({false, false, true})) << "cyclic";
  EXPECT_EQ(marked(crossing(1, 0)), Marked({false, true, false})) << "freed before the first allocation";
  EXPECT_EQ(marked(crossing(0, 1)), Marked({true, false, false})) << "two slots";
  EXPECT_EQ(marked(crossing(1, -1)), Marked({false, true, false})) << "upstream's, never freed";
}

TEST(Lifetimes, OneAliveAtTheEndThatDiedBeforeHoldsItsPlaceUntilItsSuccessor) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    for (int k = 0; k < 3; ++k) t.alloc(w, k);
    for (int k = 0; k < 3; ++k) {
      if (w == 0 || k != 1) t.free(w, k);
    }
    t.end(w);
  }
  const Lifetimes l = t.lifetimes();
  EXPECT_EQ(l.classes[1], LifeClass::kCyclic);
  EXPECT_EQ(life(l, 1), Span(1, 4));
}

TEST(Lifetimes, UseOnAnotherStreamHoldsUntilTheWindowsEnd) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    t.alloc(w, 0);
    if (w == 0) t.builder.use_on_other_stream(t.ids[w][0]);
    t.free(w, 0);
    t.alloc(w, 1);
    t.alloc(w, 2);
    t.free(w, 1);
    t.free(w, 2);
    t.end(w);
  }
  EXPECT_EQ(life(t.lifetimes(), 0), Span(0, 3));
}

TEST(Lifetimes, WindowsOfDifferentLengthInTicksAgree) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    t.alloc(w, 0);
    for (int op = 0; op < 50 * w; ++op) t.builder.op();
    t.alloc(w, 1);
    t.free(w, 0);
    t.alloc(w, 2);
    t.free(w, 2);
    t.free(w, 1);
    t.end(w);
  }
  const Lifetimes l = t.lifetimes();
  EXPECT_EQ(life(l, 0), Span(0, 2));
  EXPECT_EQ(life(l, 1), Span(1, 3));
}

TEST(Lifetimes, MarksInsideTheWindowAreInnerOnes) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    t.alloc(w, 0);
    t.builder.mark();
    t.alloc(w, 1);
    t.alloc(w, 2);
    t.builder.mark();
    for (int k = 0; k < 3; ++k) t.free(w, k);
    t.end(w);
  }
  EXPECT_EQ(t.lifetimes().inner_marks, (std::vector<std::uint32_t>{1, 3}));
}

TEST(Lifetimes, WindowsThatBeginAtTheMarksOwnTick) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    t.builder.mark();
    t.alloc(w, 0);
    t.builder.mark();
    t.alloc(w, 1);
    t.alloc(w, 2);
    for (int k = 0; k < 3; ++k) t.free(w, k);
    t.begins[w + 1] = t.builder.now();
  }
  EXPECT_EQ(t.lifetimes().inner_marks, (std::vector<std::uint32_t>{1}));
}

TEST(Lifetimes, UnplannableTracesSayWhatToDo) {
  TwoWindows t;
  for (int w = 0; w < 2; ++w) {
    t.begin(w);
    for (int k = 0; k < 3; ++k) t.alloc(w, k);
    for (int k = 0; k < 3; ++k) t.free(w, k);
    t.end(w);
  }
  const Trace good = t.builder.take(t.begins[0], t.begins[1], t.begins[2]);
  const auto message = [](const Trace& trace) {
    const auto found = find_lifetimes(trace);
    if (found.ok()) return std::string();
    EXPECT_EQ(found.error().code, ErrorCode::kUnplannable);
    return found.error().message;
  };
  EXPECT_EQ(message(good), "");
  Trace bad = good;
  bad.dropped = 7;
  EXPECT_NE(message(bad).find("7 events were dropped"), std::string::npos);
  bad = good;
  bad.steady.reset();
  EXPECT_NE(message(bad).find("no steady window"), std::string::npos);
  bad = good;
  bad.buffers[4].rounded = Bytes(4096);
  EXPECT_NE(message(bad).find("allocation 1 differs"), std::string::npos);
  bad = good;
  bad.buffers[4].stream = StreamId(1);
  EXPECT_NE(message(bad).find("allocation 1 differs"), std::string::npos);
  bad = good;
  bad.buffers.pop_back();
  EXPECT_NE(message(bad).find("made 3 and 2 allocations"), std::string::npos);
  bad = good;
  bad.steady->end = Tick(1000);
  EXPECT_NE(message(bad).find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace stowage::planner
