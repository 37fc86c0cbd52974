#include "planner/placement/portfolio.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <system_error>

namespace stowage::planner::placement {
namespace {

constexpr std::uint64_t kNoHeight = std::numeric_limits<std::uint64_t>::max();

struct Outcome {
  Draft draft;
  std::uint64_t work = 0;
  [[nodiscard]] std::uint64_t height() const { return draft.offsets.empty() ? kNoHeight : draft.height; }
};

void lower_to(Race& race, std::uint32_t rank) {
  std::uint32_t seen = race.load();
  while (rank < seen && !race.compare_exchange_weak(seen, rank)) {
  }
}

PortfolioResult choose(std::vector<Outcome>& outcomes, std::uint64_t goal) {
  PortfolioResult result;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    result.heights.push_back(outcomes[i].height());
    if (outcomes[i].height() < outcomes[result.winner].height()) result.winner = i;
  }
  const bool reached = outcomes[result.winner].height() <= goal;
  for (std::size_t i = 0; i < outcomes.size() && (!reached || i <= result.winner); ++i)
    result.work += outcomes[i].work;
  result.draft = std::move(outcomes[result.winner].draft);
  return result;
}

}  // namespace

void for_each_rank(std::uint32_t count, int threads, const std::function<void(std::uint32_t)>& body) {
  const auto serial = [&] {
    for (std::uint32_t rank = 0; rank < count; ++rank) body(rank);
  };
  if (threads == 1 || count == 1) return serial();
  try {
    tbb::task_arena arena(threads == 0 ? tbb::task_arena::automatic : threads, 1,
                          tbb::task_arena::priority::low);
    std::atomic<std::uint32_t> next{0};  // whoever is free takes the next rank, not a far one
    arena.execute([&] {
      tbb::parallel_for(
          std::uint32_t{0}, count, std::uint32_t{1}, [&](std::uint32_t) { body(next.fetch_add(1)); },
          tbb::simple_partitioner());
    });
  } catch (const std::system_error&) {
    serial();  // no thread to be had: the same result, later
  }
}

std::optional<PortfolioResult> run_portfolio(const Instance& instance, const std::vector<Member>& members,
                                             const Limits& limits, std::uint64_t share,
                                             const Privileged& privileged, int threads) {
  if (members.empty()) return std::nullopt;
  Race race{std::numeric_limits<std::uint32_t>::max()};
  std::vector<Outcome> outcomes(members.size());
  Limits patient = limits;
  patient.deadline = std::chrono::steady_clock::time_point::max();
  for_each_rank(static_cast<std::uint32_t>(members.size()), threads, [&](std::uint32_t rank) {
    const Limits& own = rank < privileged.patient ? patient : limits;
    if (race.load(std::memory_order_relaxed) < rank || own.over()) return;
    WorkMeter meter(own, rank < privileged.unlimited ? kNoHeight : share, race, rank);
    if (!members[rank].run(meter, outcomes[rank].draft)) outcomes[rank].draft.offsets.clear();
    outcomes[rank].work = meter.used();
    if (outcomes[rank].height() <= instance.low_enough()) lower_to(race, rank);
  });
  PortfolioResult result = choose(outcomes, instance.low_enough());
  if (result.heights[result.winner] == kNoHeight) return std::nullopt;
  return result;
}

}  // namespace stowage::planner::placement
