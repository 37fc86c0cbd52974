// When is a job steady? Small sequences of segments, written as texts, and the mark at which they must be
// recognised.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/tracer/feed.h"

namespace stowage::tracer::testing {
namespace {

struct Case {
  const char* name;
  const char* text;       // segments, see Feed::play
  int steady_after_mark;  // first mark (from 1) that finds the steady state; 0: none does
  std::uint32_t period;   // marks a window holds, at the end of the text
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name << " " << c.text; }

class SteadyTable : public ::testing::TestWithParam<Case> {};

TEST_P(SteadyTable, is_found_at_the_right_mark) {
  Feed feed;
  const std::vector<bool> steady = feed.play(GetParam().text);
  int first = 0;
  for (std::size_t i = 0; i < steady.size() && first == 0; ++i)
    first = steady[i] ? static_cast<int>(i) + 1 : 0;
  EXPECT_EQ(first, GetParam().steady_after_mark);
  EXPECT_EQ(feed.recorder.period_marks(), GetParam().period);
}

const Case kCases[] = {
    {"same", "abc|abc|", 2, 1},
    {"one_is_not_enough", "abc|", 0, 0},
    {"warm_up", "abcz|abc|abc|", 3, 1},
    {"long_warm_up", "zzz|zz|zzzz|abc|abc|", 5, 1},
    {"two_optimizers", "ab|cd|ab|cd|", 4, 2},
    {"two_optimizers_after_warm_up", "zab|zcd|ab|cd|ab|cd|", 6, 2},
    {"three_optimizers", "a|b|c|a|b|c|", 6, 3},
    {"two_optimizers_need_two_full_periods", "ab|cd|ab|", 0, 0},
    {"evaluation_every_third", "ab|ab|abee|ab|ab|abee|", 2, 3},
    {"one_off_difference", "zab|ab|ac|ab|ab|", 5, 1},
    {"order_matters", "ab|ba|ab|", 0, 0},
    {"count_matters", "ab|aba|abab|", 0, 0},
    {"empty_segments_do_not_count", "||abc|||abc||", 6, 1},
    {"only_empty_segments", "|||||", 0, 0},
    {"double_steps_are_one", "ab||cd||ab||cd||", 7, 2},
    {"drift_is_never_steady", "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|", 0, 0},
    {"lost_again", "ab|ab|cd|", 2, 0},
    {"smallest_period_wins", "a|b|a|b|b|", 4, 1},
    {"longest_period_looked_for", "a|b|c|d|e|f|g|h|a|b|c|d|e|f|g|h|", 16, 8},
    {"longer_than_looked_for", "a|b|c|d|e|f|g|h|i|a|b|c|d|e|f|g|h|i|", 0, 0},
};

INSTANTIATE_TEST_SUITE_P(cases, SteadyTable, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return param.param.name; });

TEST(Steady, streams_matter) {
  Feed feed;
  for (std::uint32_t stream : {0u, 1u, 0u}) {
    feed.alloc(512, stream);
    feed.recorder.on_mark(MarkSource::kUser);
    EXPECT_FALSE(feed.recorder.steady());
  }
}

TEST(Steady, requested_bytes_do_not_matter_but_rounded_ones_do) {
  Feed feed;
  for (std::uint64_t bytes : {100u, 200u}) {
    feed.alloc(bytes);
    feed.recorder.on_mark(MarkSource::kUser);
  }
  EXPECT_TRUE(feed.recorder.steady());
}

// What find_period promises, said in the plainest way: texts of segments, compared as texts.
std::uint32_t naive_period(const std::vector<std::string>& segments, std::uint32_t max_period) {
  for (std::uint32_t p = 1; p <= max_period && 2 * p <= segments.size(); ++p) {
    const auto last = segments.end() - p;
    if (std::equal(last, segments.end(), last - p)) return p;
  }
  return 0;
}

TEST(Steady, agrees_with_the_naive_search_on_random_jobs) {
  std::mt19937 random(7);
  int found = 0;
  for (int job = 0; job < 300; ++job) {
    const std::uint32_t max_period = 1 + random() % 5;
    Feed feed(RecorderOptions{.max_period_marks = max_period});
    std::vector<std::string> segments;
    for (int mark = 0; mark < 30; ++mark) {
      std::string text;
      for (std::uint32_t length = random() % 3; length-- > 0;) text += static_cast<char>('a' + random() % 2);
      feed.play(text + "|");
      if (!text.empty()) segments.push_back(text);
      ASSERT_EQ(feed.recorder.period_marks(), naive_period(segments, max_period))
          << "job " << job << " mark " << mark;
      found += feed.recorder.steady() ? 1 : 0;
    }
  }
  EXPECT_GT(found, 500);
}

}  // namespace
}  // namespace stowage::tracer::testing
