// The exact search on minimalloc's and idealloc's problems: time to a placement within the capacity, over
// seeds.
//
// Each repetition has another seed, so that the aggregates show the tail. `CPU` is that of all threads
// together.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "planner/placement/problem/csv.h"
#include "planner/placement/search/minimise.h"

namespace stowage::planner::placement::search {
namespace {

constexpr std::uint64_t kMinimallocCapacity = 1'048'576;  ///< bytes
constexpr int kSeeds = 20;

/// A capacity of 0 stands for the problem's lower bound.
void find_within(benchmark::State& state, const std::string& name, std::uint64_t capacity,
                 std::uint64_t& seed) {
  const auto table = read_csv(std::string(STOWAGE_INSTANCES) + "/" + name + ".csv");
  if (!table) return state.SkipWithError(table.error().message.c_str());
  const Instance instance = build_instance(table->problem, 0, {});
  if (capacity == 0) capacity = instance.bound;
  PortfolioOptions options;
  options.search.seed = ++seed;
  options.threads = 2;
  Found found;
  for (auto _ : state) {
    found = find(instance, capacity, options, {});
    if (found.outcome != Outcome::kFound) return state.SkipWithError("no placement within the work limit");
  }
  state.counters["buffers"] = static_cast<double>(instance.pieces.size());
  state.counters["work"] = static_cast<double>(found.work);
}

void register_problem(const std::string& name, std::uint64_t capacity) {
  const auto seed = std::make_shared<std::uint64_t>(0);
  const auto run = [=](benchmark::State& state) { find_within(state, name, capacity, *seed); };
  const auto least = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
  const auto most = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Iterations(1)
      ->Repetitions(kSeeds)
      ->ComputeStatistics("min", least)
      ->ComputeStatistics("max", most)
      ->DisplayAggregatesOnly()
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->MeasureProcessCPUTime();
}

const bool kRegistered = [] {
  for (char name = 'A'; name <= 'K'; ++name)
    register_problem(std::string(1, name) + ".1048576", kMinimallocCapacity);
  register_problem("somas_resnet50", 0);
  return true;
}();

}  // namespace
}  // namespace stowage::planner::placement::search
