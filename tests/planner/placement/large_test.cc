#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/lifetimes.h"
#include "planner/placement/greedy/fold.h"
#include "planner/placement/greedy/greedy.h"
#include "planner/placement/greedy/online.h"
#include "planner/placement/instance/offset_index.h"
#include "planner/placement/instance/overlap.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/solve.h"
#include "tests/planner/placement/problems.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner::placement {
namespace {

Problem problem_of(const Job& job) {
  const auto lifetimes = find_lifetimes(training_trace(job));
  EXPECT_TRUE(lifetimes.ok());
  return lifetimes.ok() ? lifetimes->problem : Problem{};
}

/// A meter that never stops.
class Unlimited {
 public:
  WorkMeter& meter() { return meter_; }

 private:
  Limits limits_;
  Race race_{0xffffffff};
  WorkMeter meter_{limits_, ~std::uint64_t{0}, race_, 0};
};

Solution solution_of(const Problem& problem, const Instance& instance, const Draft& draft) {
  Solution solution;
  solution.offsets.assign(problem.items.size(), Offset(0));
  for (std::size_t i = 0; i < draft.offsets.size(); ++i)
    solution.offsets[instance.pieces[i].item] = Offset(draft.offsets[i]);
  for (std::size_t i = 0; i < problem.items.size(); ++i)
    solution.height = std::max(solution.height, Bytes(solution.offsets[i].value()) + problem.items[i].size);
  return solution;
}

void expect_valid(const Problem& problem, const Instance& instance, const Draft& draft) {
  ASSERT_EQ(draft.offsets.size(), instance.pieces.size());
  const Solution solution = solution_of(problem, instance, draft);
  const Status status = validate_placement(problem, solution);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  std::uint64_t height = draft.height;
  for (const Item& item : problem.items) height = std::max(height, item.size.value());
  EXPECT_LE(solution.height.value(), height);
}

Problem random_kind(std::uint32_t round, std::mt19937_64& random) {
  Shape shape;
  shape.items = 1 + random() % 80;
  shape.horizon = 2 + random() % 60;
  shape.cyclic = (round & 1) != 0;
  shape.gaps = (round & 2) != 0 ? 0.5 : 0;
  shape.empty = (round & 4) != 0 ? 0.2 : 0;
  shape.odd_alignment = (round & 8) != 0 ? 0.5 : 0;
  shape.max_size = (round & 16) != 0 ? std::uint64_t{1} << 52 : 20;
  return random_problem(shape, random);
}

TEST(LargePlacement, EveryPlacerIsValidOnProblemsOfEveryKind) {
  std::mt19937_64 random(11);
  for (std::uint32_t round = 0; round < 640; ++round) {
    const Problem problem = random_kind(round, random);
    const Instance instance = build_instance(problem, 0, {});
    Unlimited unlimited;
    Draft draft;
    ASSERT_TRUE(place_online(instance, unlimited.meter(), draft));
    expect_valid(problem, instance, draft);
    for (Key key : {Key::kSize, Key::kArea, Key::kDuration, Key::kBirth, Key::kEnd}) {
      const auto order = sorted_order(instance, key);
      ASSERT_TRUE(place_lowest_first(instance, order, unlimited.meter(), draft));
      expect_valid(problem, instance, draft);
      for (Fit fit : {Fit::kFirst, Fit::kBest}) {
        ASSERT_TRUE(place_in_order(instance, order, fit, unlimited.meter(), draft));
        expect_valid(problem, instance, draft);
      }
      if (place_folded(instance, key, unlimited.meter(), draft)) expect_valid(problem, instance, draft);
    }
    if (HasFailure()) FAIL() << "round " << round;
  }
}

// Two that need each other's gaps: one rests while the other works.
TEST(LargePlacement, FirstFitUsesGaps) {
  Problem problem;
  for (int i = 0; i < 2; ++i) {
    Item item;
    item.death = 10;
    item.size = Bytes(1024);
    problem.items.push_back(item);
  }
  problem.gaps = {{0, 0, 5, Bytes(0), Bytes(0)}, {1, 5, 10, Bytes(0), Bytes(512)}};
  const auto solution = place_greedily(problem, {});
  ASSERT_TRUE(solution.ok());
  EXPECT_TRUE(validate(problem, *solution).ok());
  EXPECT_EQ(solution->height, Bytes(1536));
  EXPECT_TRUE(solution->proved_optimal);
}

TEST(LargePlacement, MicroBatchesFold) {
  for (bool varied : {false, true}) {
    const Problem problem = problem_of(gpt_in_micro_batches(40'000, 4, varied));
    const Instance instance = build_instance(problem, 0, {});
    Unlimited unlimited;
    Draft draft;
    FoldStatistics statistics;
    ASSERT_TRUE(place_folded(instance, Key::kDuration, unlimited.meter(), draft, &statistics));
    expect_valid(problem, instance, draft);
    EXPECT_GT(statistics.stretches, 4 * statistics.distinct);
    EXPECT_LE(static_cast<double>(draft.height), 1.01 * static_cast<double>(instance.bound));
  }
}

TEST(LargePlacement, TheZooReachesItsBound) {
  for (const Job& job : zoo()) {
    const Problem problem = problem_of(job);
    const auto solution = place_greedily(problem, {});
    ASSERT_TRUE(solution.ok());
    EXPECT_TRUE(validate(problem, *solution).ok());
    EXPECT_TRUE(solution->proved_optimal) << job.name;
  }
}

TEST(LargePlacement, BoostingReachesTheBoundOfSomasResNet50) {
  const Problem problem = read_problem("somas_resnet50");
  GreedyOptions options;
  const auto boosted = place_greedily(problem, options);
  ASSERT_TRUE(boosted.ok());
  EXPECT_TRUE(boosted->proved_optimal);
  options.boosting = false;
  const auto plain = place_greedily(problem, options);
  ASSERT_TRUE(plain.ok());
  EXPECT_GT(plain->height, boosted->height);
}

TEST(LargePlacement, TheCapacityAndTheToleranceEndTheSearch) {
  Problem problem = read_problem("somas_resnet50");
  GreedyOptions options;
  options.tolerance = 0.01;
  const auto near = place_greedily(problem, options);
  ASSERT_TRUE(near.ok());
  EXPECT_LT(near->work, 1'000'000u);
  EXPECT_LE(static_cast<double>(near->height.value()), 1.01 * static_cast<double>(near->lower_bound.value()));
  options.tolerance = 0;
  problem.capacity = near->height;
  const auto fitting = place_greedily(problem, options);
  ASSERT_TRUE(fitting.ok());
  EXPECT_LE(fitting->height, near->height);
  EXPECT_LT(fitting->work, 1'000'000u);
}

TEST(LargePlacement, EverySwitchCanBeOff) {
  std::mt19937_64 random(5);
  Shape shape;
  shape.items = 60;
  const Problem problem = random_problem(shape, random);
  for (int off = 0; off < 64; ++off) {
    GreedyOptions options;
    options.limits.work_limit = 100'000;
    options.boosting = (off & 1) == 0;
    options.online = (off & 2) == 0;
    options.folding = (off & 4) == 0;
    options.lowest_first = (off & 8) == 0;
    options.first_fit = (off & 16) == 0;
    options.best_fit = (off & 32) == 0;
    const auto solution = place_greedily(problem, options);
    ASSERT_TRUE(solution.ok()) << off;
    EXPECT_TRUE(validate(problem, *solution).ok()) << off;
  }
}

TEST(GivingWay, LeavesNoTwoThatMeet) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 300; ++round) {
    std::vector<Claim> claims;
    for (std::uint32_t i = 0; i < 30; ++i) {
      const auto begin = static_cast<std::uint32_t>(random() % 20);
      const std::uint64_t low = random() % 100;
      claims.push_back({begin,
                        begin + 1 + static_cast<std::uint32_t>(random() % 8),
                        {low, low + 1 + random() % 20},
                        i,
                        random() % 8 == 0});
    }
    const auto gone = giving_way(claims);
    const auto stays = [&](const Claim& claim) {
      return !std::binary_search(gone.begin(), gone.end(), claim.owner);
    };
    const auto meet = [](const Claim& a, const Claim& b) {
      return a.owner != b.owner && a.begin < b.end && b.begin < a.end &&
             a.addresses.begin < b.addresses.end && b.addresses.begin < a.addresses.end;
    };
    for (const Claim& a : claims) {
      const bool firm_met =
          std::any_of(claims.begin(), claims.end(), [&](const Claim& b) { return b.firm && meet(a, b); });
      EXPECT_TRUE(!a.firm || firm_met || stays(a));
      for (const Claim& b : claims) EXPECT_FALSE(stays(a) && stays(b) && meet(a, b));
    }
  }
}

/// Shown placements, as the validator and the heights say.
std::vector<Solution> shown_by(const Problem& problem, PlaceOptions options) {
  std::vector<Solution> shown;
  options.on_better = [&](const Solution& better) { shown.push_back(better); };
  const auto solution = place(problem, options);
  EXPECT_TRUE(solution.ok()) << (solution.ok() ? "" : solution.error().message);
  for (const Solution& better : shown) {
    const Status status = validate_placement(problem, better);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  }
  EXPECT_TRUE(!shown.empty() && solution.ok() && shown.back().height == solution->height);
  return shown;
}

TEST(Place, ATimeLimitNeverCutsTheFirstPlacement) {
  PlaceOptions options;
  options.time_limit_s = 1e-9;
  EXPECT_EQ(shown_by(problem_of(gpt_in_micro_batches(30'000, 24, true)), options).size(), 1u);
  std::mt19937_64 random(3);
  Shape shape;
  shape.items = 500;
  Problem fixed = random_problem(shape, random);
  fix_some(fixed, stacked(fixed), random);
  EXPECT_EQ(shown_by(fixed, options).size(), 1u);
}

TEST(Place, ALargeProblemShowsAQuickPlacementBeforeTheSlowOnesBegin) {
  PlaceOptions options;
  options.work_limit = 100'000'000;
  const std::vector<Solution> shown = shown_by(problem_of(gpt_in_micro_batches(30'000, 24, false)), options);
  ASSERT_GE(shown.size(), 2u);
  EXPECT_TRUE(shown[0].technique == "online best-fit" || shown[0].technique == "folded lowest-first")
      << shown[0].technique;
  for (std::size_t i = 1; i < shown.size(); ++i) EXPECT_LT(shown[i].height, shown[i - 1].height);
}

/// What stands somewhere, for a comparison with each of them.
struct Stood {
  Life life;
  std::uint64_t offset, size;
};

bool meet(const Life& a, const Life& b) {
  const auto cross = [](std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to) {
    return begin < to && from < end;
  };
  return cross(a.begin, a.end, b.begin, b.end) || cross(0, a.wrapped_end, b.begin, b.end) ||
         cross(a.begin, a.end, 0, b.wrapped_end) || (a.wrapped_end != 0 && b.wrapped_end != 0);
}

/// The lowest offset and the one in the tightest gap, by all that stands.
std::pair<std::uint64_t, std::uint64_t> fits_by_all(std::vector<Stood>& all, const Piece& piece) {
  std::sort(all.begin(), all.end(), [](const Stood& a, const Stood& b) { return a.offset < b.offset; });
  std::uint64_t at = 0, tightest = 0, waste = ~std::uint64_t{0};
  std::optional<std::uint64_t> lowest;
  for (const Stood& stood : all) {
    if (!meet(stood.life, piece.life)) continue;
    if (stood.offset >= at + piece.size && stood.offset - at - piece.size < waste) {
      tightest = at;
      waste = stood.offset - at - piece.size;
      if (!lowest) lowest = at;
    }
    at = std::max(at, align_up(stood.offset + stood.size, piece.alignment));
  }
  return {lowest.value_or(at), lowest ? tightest : at};
}

/// Short lives and long ones, wrapped and not, before and after there is a grid.
TEST(OffsetIndex, FindsTheFitsThatACompleteComparisonFinds) {
  constexpr std::uint32_t kRanks = 30'000;
  std::mt19937_64 random(12);
  OffsetIndex index(kRanks);
  std::vector<Stood> all;
  const auto drawn = [&] {
    Piece piece;
    const std::uint32_t length = 1 + random() % (random() % 8 == 0 ? kRanks : 60);
    piece.life.begin = random() % kRanks;
    piece.life.end = std::min(kRanks, piece.life.begin + length);
    if (piece.life.begin + length > kRanks) piece.life.wrapped_end = piece.life.begin + length - kRanks;
    piece.size = 1 + random() % 500;
    piece.alignment = 1 + random() % 3;
    return piece;
  };
  for (int i = 0; i < 6000; ++i) {
    const Piece piece = drawn();
    all.push_back({piece.life, random() % 20'000, piece.size});
    index.insert(all.back().life, all.back().offset, all.back().size);
    if (i % 60 != 0) continue;
    const Piece asker = drawn();
    std::uint64_t work = 0;
    std::vector<Stood> sorted = all;
    const auto [lowest, tightest] = fits_by_all(sorted, asker);
    ASSERT_EQ(index.first_fit(asker, work), lowest) << i;
    ASSERT_EQ(index.best_fit(asker, work), tightest) << i;
  }
}

bool lies_on(const Part& part, std::uint64_t at, const Stood& stood) {
  const bool meets = part.begin < stood.life.end && stood.life.begin < part.end;
  return meets && at + part.lower < stood.offset + stood.size && stood.offset < at + part.upper;
}

/// The lowest offset by trying all.
std::uint64_t lowest_by_all(const std::vector<Stood>& all, const std::vector<Part>& parts,
                            std::uint64_t alignment) {
  const auto fits = [&](std::uint64_t at) {
    return std::none_of(all.begin(), all.end(), [&](const Stood& stood) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const Part& part) { return lies_on(part, at, stood); });
    });
  };
  std::uint64_t at = 0;
  while (!fits(at)) at += alignment;
  return at;
}

/// A few parts at random heights and times, most of them on some of the entries wherever they go.
TEST(OffsetIndex, FindsTheLowestFitOfAPieceWithGaps) {
  constexpr std::uint32_t kRanks = 1000;
  std::mt19937_64 random(3);
  OffsetIndex index(kRanks);
  std::vector<Stood> all;
  for (int i = 0; i < 900; ++i) {
    Stood& stood = all.emplace_back();
    stood.life.begin = random() % (kRanks - 100);
    stood.life.end = stood.life.begin + 1 + random() % 100;
    stood.offset = random() % 3000;
    stood.size = 1 + random() % 60;
    index.insert(stood.life, stood.offset, stood.size);
    if (i % 3 != 0) continue;
    std::vector<Part> parts(1 + random() % 4);
    for (Part& part : parts) {
      part.begin = random() % (kRanks - 100);
      part.end = part.begin + 1 + random() % 100;
      part.lower = random() % 200;
      part.upper = part.lower + 1 + random() % 100;
    }
    const std::uint64_t alignment = 1 + random() % 7;
    std::uint64_t work = 0;
    ASSERT_EQ(index.first_fit(parts, alignment, work), lowest_by_all(all, parts, alignment)) << i;
  }
}

}  // namespace
}  // namespace stowage::planner::placement
