// The way back to known ops: what may come instead, what may be left out, and how much of it.
#include "recompute/schedule/detour.h"

#include <gtest/gtest.h>

#include <numeric>

#include "recompute/schedule/recent_ops.h"

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kOther = 1'000;  // shapes that are not known

/// An iteration over `known` ops 0, 1, 2, …, followed as the runtime does.
class Iteration {
 public:
  explicit Iteration(std::size_t ops) : known_(ops) { std::iota(known_.begin(), known_.end(), 0u); }
  Iteration& pass(std::uint64_t shape) {
    if (!detour_.is_on() && at_ < known_.size() && known_[at_] == shape) {
      ++at_;
    } else if (const std::optional<Detour::Way> way = detour_.pass(shape, made_, known_, at_)) {
      way_ = *way;
      at_ = way->op + 1;
    }
    ++made_;  // each op makes one
    return *this;
  }
  Iteration& pass_known(std::uint64_t from, std::uint64_t until) {
    for (; from < until; ++from) pass(from);
    return *this;
  }
  Iteration& pass_others(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) pass(kOther + i);
    return *this;
  }
  [[nodiscard]] bool is_back() const { return !detour_.is_on(); }
  [[nodiscard]] bool ends_well() const { return detour_.ends_well(known_, at_); }

  Detour::Shapes known_;
  std::size_t at_ = 0, made_ = 0;
  Detour detour_;
  Detour::Way way_{0, 0};
};

TEST(DetourTest, GoesOnBehindAnOpThatCameInBetween) {
  Iteration one(80);
  one.pass_known(0, 20).pass_others(1).pass_known(20, 23);
  EXPECT_FALSE(one.is_back());
  one.pass_known(23, 24);
  EXPECT_TRUE(one.is_back());
  EXPECT_EQ(one.way_.op, 23u);
  EXPECT_EQ(one.way_.made, 21u) << "what the alike ops made counts, what the other one made does not";
  one.pass_known(24, 80);
  EXPECT_TRUE(one.is_back() && one.ends_well());
}

TEST(DetourTest, GoesOnBehindOpsThatAreLeftOut) {
  Iteration one(80);
  one.pass_known(0, 20).pass_known(25, 28);
  EXPECT_FALSE(one.is_back());
  one.pass_known(28, 29);
  EXPECT_TRUE(one.is_back());
  EXPECT_EQ(one.way_.op, 28u);
  EXPECT_EQ(one.way_.made, 20u);
}

TEST(DetourTest, GoesOnBehindOpsOfOtherSizes) {
  Iteration one(80);
  one.pass_known(0, 20).pass_others(3).pass_known(23, 80);
  EXPECT_TRUE(one.is_back() && one.ends_well());
}

TEST(DetourTest, IsLostWhereTooMuchCameInstead) {
  Iteration one(80);  // of which ten may differ
  one.pass_known(0, 20).pass_others(13);
  EXPECT_FALSE(one.detour_.is_lost());
  one.pass_others(1);
  EXPECT_TRUE(one.detour_.is_lost());
  EXPECT_FALSE(one.ends_well());
}

TEST(DetourTest, DoesNotLookFartherThanMayBeLeftOut) {
  Iteration one(80);
  one.pass_known(0, 20).pass_known(31, 41);
  EXPECT_FALSE(one.is_back());
  Iteration other(80);
  other.pass_known(0, 20).pass_known(30, 34);
  EXPECT_TRUE(other.is_back());
}

TEST(DetourTest, CountsAllDetoursOfAnIterationTogether) {
  Iteration one(80);
  one.pass_known(0, 20).pass_others(6).pass_known(20, 40);
  EXPECT_TRUE(one.is_back());
  one.pass_others(8);
  EXPECT_TRUE(one.detour_.is_lost()) << "four more may differ";
  one.detour_.begin_iteration();
  EXPECT_FALSE(one.detour_.is_lost() || one.detour_.is_on());
}

TEST(DetourTest, OfManyOpsNoMoreThanAFewMayDiffer) {
  Iteration one(10'000);
  one.pass_known(0, 20).pass_others(Detour::kMost + Detour::kAlike);
  EXPECT_TRUE(one.detour_.is_lost());
}

TEST(DetourTest, AFewOpsMayBeMissingAtTheEndOrComeOnTop) {
  Iteration missing(80);
  EXPECT_TRUE(missing.pass_known(0, 70).ends_well());
  Iteration more_missing(80);
  EXPECT_FALSE(more_missing.pass_known(0, 69).ends_well());
  Iteration on_top(80);
  EXPECT_TRUE(on_top.pass_known(0, 80).pass_others(10).ends_well());
  EXPECT_FALSE(on_top.pass_others(1).ends_well());
}

TEST(DetourTest, InAShortIterationNothingMayDiffer) {
  Iteration one(7);
  one.pass_known(0, 2).pass_others(1).pass_known(3, 7);
  EXPECT_TRUE(one.detour_.is_lost());
  EXPECT_FALSE(one.ends_well());
}

TEST(RecentOps, TellAPlaceByEightOps) {
  const std::vector<std::uint64_t> known{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  RecentOps recent;
  for (std::uint64_t op = 0; op < 9; ++op) {
    EXPECT_FALSE(recent.are_at(known, 1));
    recent.note({op + 1, 100 + op});
  }
  EXPECT_TRUE(recent.are_at(known, 1));
  EXPECT_FALSE(recent.are_at(known, 0));
  EXPECT_FALSE(recent.are_at(known, 3)) << "there are fewer";
  EXPECT_EQ(recent.made_before(), 101u) << "of the eighth last one";
  recent.note({11, 0});
  EXPECT_FALSE(recent.are_at(known, 2));
  recent.clear();
  EXPECT_FALSE(recent.are_at(known, 1));
}

}  // namespace
}  // namespace stowage::recompute
