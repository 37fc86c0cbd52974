// A search that begins with what was found for a little more bytes.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/schedule/search/search.h"
#include "planner/schedule/search/trials.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kPlenty = 200'000'000;

std::optional<Found> found_within(const OpGraph& graph, std::uint64_t budget, std::uint64_t work_left,
                                  const Found* nearby) {
  const GapTable gaps = make_gaps(graph, 0);
  SearchLimits limits{.work_limit = kPlenty, .gaps = &gaps, .nearby = nearby};
  std::uint64_t work = kPlenty - work_left;
  return search(graph, budget, limits, work);
}

std::vector<StepLog> logs() {
  std::vector<StepLog> found;
  for (std::uint32_t layers = 8; layers <= 24; layers += 4) {
    found.push_back(optimized(layers, 4, 8, 30));
    found.push_back(transformer(layers / 4));
    found.push_back(chain(layers, 4));
  }
  return found;
}

TEST(Nearby, WithoutWorkToDoItIsNearlyAsCheapAsTheWholeSearch) {
  std::uint64_t whole_ns = 0, nearby_ns = 0, starved_ns = 0;
  int compared = 0;
  for (const StepLog& log : logs()) {
    const OpGraph graph = *make_op_graph(log);
    const std::uint64_t budget = share_of_peak(log, 0.6).value();
    const std::uint64_t less = budget - budget / 64;
    const std::optional<Found> first = found_within(graph, budget, kPlenty, nullptr);
    const std::optional<Found> whole = found_within(graph, less, kPlenty, nullptr);
    if (!first || !whole) continue;
    const std::optional<Found> near = found_within(graph, less, 0, &*first);
    const std::optional<Found> starved = found_within(graph, less, 0, nullptr);
    ASSERT_TRUE(near.has_value());
    EXPECT_LE(near->outcome.peak, less);
    EXPECT_EQ(near->outcome.refused, 0u);
    ++compared;
    whole_ns += whole->outcome.added_ns();
    nearby_ns += near->outcome.added_ns();
    if (starved) starved_ns += starved->outcome.added_ns();
  }
  EXPECT_GE(compared, 10);
  EXPECT_LE(nearby_ns, whole_ns + whole_ns / 8);
  EXPECT_LT(nearby_ns, starved_ns);
}

TEST(Nearby, ItIsTheSameTwice) {
  const StepLog log = optimized(16, 4, 8, 30);
  const OpGraph graph = *make_op_graph(log);
  const std::uint64_t budget = share_of_peak(log, 0.6).value();
  const std::optional<Found> first = found_within(graph, budget, kPlenty, nullptr);
  ASSERT_TRUE(first.has_value());
  const std::optional<Found> one = found_within(graph, budget - 512, 0, &*first);
  const std::optional<Found> other = found_within(graph, budget - 512, 0, &*first);
  ASSERT_TRUE(one.has_value() && other.has_value());
  EXPECT_EQ(of_steps(log, graph, one->steps).actions, of_steps(log, graph, other->steps).actions);
}

}  // namespace
}  // namespace stowage::planner::schedule
