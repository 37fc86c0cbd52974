#include "tests/planner/placement/problems.h"

#include <stdexcept>

#include "planner/placement/instance/offset_index.h"
#include "planner/placement/problem/csv.h"

namespace stowage::planner::placement {

Problem read_problem(const std::string& name) {
  const auto table = read_csv(std::string(STOWAGE_INSTANCES) + "/" + name + ".csv");
  if (!table.ok()) throw std::runtime_error(table.error().message);
  return table->problem;
}

Problem random_problem(const Shape& shape, std::mt19937_64& random) {
  const auto chance = [&](double p) { return static_cast<double>(random() % 10000) < p * 10000; };
  Problem problem;
  if (shape.cyclic) problem.period = shape.horizon;
  for (std::size_t i = 0; i < shape.items; ++i) {
    Item item;
    item.birth = random() % shape.horizon;
    const std::uint64_t longest = shape.cyclic ? shape.horizon : shape.horizon - item.birth;
    item.death = item.birth + 1 + random() % longest;
    item.alignment = Bytes(shape.alignment * (chance(shape.odd_alignment) ? 1 + random() % 5 : 1));
    item.size = Bytes((1 + random() % shape.max_size) * shape.alignment);
    if (chance(shape.empty)) {
      if (random() % 2 == 0)
        item.size = Bytes(0);
      else
        item.death = item.birth;
    }
    item.stream_class = static_cast<std::uint32_t>(random() % shape.classes);
    problem.items.push_back(item);
    if (shape.gaps > 0 && chance(shape.gaps)) add_gaps(problem, static_cast<std::uint32_t>(i), random);
  }
  return problem;
}

void add_gaps(Problem& problem, std::uint32_t index, std::mt19937_64& random) {
  const Item& item = problem.items[index];
  std::uint64_t from = item.birth;
  for (int count = 1 + static_cast<int>(random() % 2); count > 0 && item.death - from >= 2; --count) {
    Gap gap;
    gap.item = index;
    gap.begin = from + random() % (item.death - from);
    gap.end = gap.begin + 1 + random() % (item.death - gap.begin);
    if (random() % 2 == 0) {
      gap.lower = Bytes(random() % (item.size.value() + 1));
      gap.upper = gap.lower + Bytes(random() % (item.size.value() - gap.lower.value() + 1));
    }
    problem.gaps.push_back(gap);
    from = gap.end;
  }
}

std::pair<std::uint64_t, std::uint64_t> used_at(const Problem& problem, std::size_t index,
                                                std::uint64_t time) {
  const Item& item = problem.items[index];
  if (time < item.birth) time += problem.period;
  if (time < item.birth || time >= item.death) return {0, 0};
  for (const Gap& gap : problem.gaps) {
    if (gap.item == index && gap.begin <= time && time < gap.end)
      return {gap.lower.value(), gap.upper.value()};
  }
  return {0, item.size.value()};
}

void fix_some(Problem& problem, const Solution& solution, std::mt19937_64& random) {
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (random() % 3 == 0) problem.items[i].fixed = solution.offsets[i];
  }
}

Solution stacked(const Problem& problem) {
  Solution solution;
  for (const Item& item : problem.items) {
    const std::uint64_t offset = align_up(solution.height.value(), item.alignment.value());
    solution.offsets.emplace_back(offset);
    solution.height = Bytes(offset) + item.size;
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    solution.height = std::max(solution.height, Bytes(solution.offsets[i].value()) + problem.items[i].size);
  }
  solution.lower_bound = lower_bound(problem);
  solution.proved_optimal = solution.height == solution.lower_bound;
  return solution;
}

}  // namespace stowage::planner::placement
