#include "planner/schedule/model/arena_height.h"

#include <algorithm>

#include "planner/placement/solve.h"

namespace stowage::planner::schedule {

Result<std::uint64_t> arena_height(const std::vector<Span>& spans, std::uint64_t enough,
                                   const std::stop_token& stop) {
  std::uint64_t end = 0;
  std::uint64_t fixed = 0;
  for (const Span& span : spans) end = std::max(end, span.end == kOpenEnd ? span.begin + 1 : span.end);
  placement::Problem problem;
  for (const Span& span : spans) {
    if (span.from_before && span.end == kOpenEnd) {
      fixed += span.bytes;
      continue;
    }
    placement::Item item;
    item.birth = span.from_before ? 0 : span.begin;
    item.death = span.end == kOpenEnd ? end : span.end;
    item.size = Bytes(span.bytes);
    if (placement::occupies(item)) problem.items.push_back(item);
  }
  if (problem.items.empty()) return fixed;
  problem.capacity = Bytes(enough > fixed ? enough - fixed : 0);
  placement::PlaceOptions options;
  options.work_limit = 100'000'000;
  options.techniques.explain = false;
  options.stop = stop;
  const Result<placement::Solution> solution = placement::place(problem, options);
  if (!solution) return solution.error();
  return fixed + solution->height.value();
}

}  // namespace stowage::planner::schedule
