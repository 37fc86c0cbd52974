#include "planner/placement/carry_over.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

namespace stowage::planner::placement {
namespace {

/// How many old items, and how many new ones, carry_over() passes over at most to find where all continues as
/// before.
constexpr std::size_t kFarthest = 32;
/// How many in a row must be alike there.
constexpr std::size_t kTogether = 8;

/// The least (old, new) for which together(old, new); as many of both first. One of each if there is none.
template <class Together>
std::pair<std::size_t, std::size_t> fewest_skipped(const Together& together) {
  for (std::size_t most = 1; most <= kFarthest; ++most) {
    for (std::size_t other = most + 1; other-- > 0;) {
      if (together(most, other)) return {most, other};
      if (together(other, most)) return {other, most};
    }
  }
  return {1, 1};
}

/// Items in order of birth, of equals as they stand.
std::vector<std::uint32_t> by_birth(const Problem& problem) {
  std::vector<std::uint32_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return problem.items[a].birth < problem.items[b].birth;
  });
  return order;
}

using Kind = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;

Kind kind_of(const Item& item) { return {item.size.value(), item.alignment.value(), item.stream_class}; }

}  // namespace

Carried carry_over(const Problem& old_problem, const Solution& old_solution, const Problem& problem) {
  const std::vector<std::uint32_t> before = by_birth(old_problem), after = by_birth(problem);
  const auto alike = [&](std::size_t a, std::size_t b) {
    return kind_of(old_problem.items[before[a]]) == kind_of(problem.items[after[b]]);
  };
  const std::size_t count = problem.items.size();
  Carried carried;
  carried.offsets.resize(count);
  carried.grown.resize(count);
  const auto carry = [&](std::size_t a, std::size_t b, std::vector<std::optional<Offset>>& offsets) {
    offsets[after[b]] = old_solution.offsets[before[a]];
  };
  // So many in a row that are alike, or as many as are left, say that the sequences run together again: jobs
  // repeat themselves, and a few are alike by chance.
  const auto together = [&](std::size_t a, std::size_t b) {
    if (a > before.size() || b > after.size()) return false;
    const std::size_t run = std::min({kTogether, before.size() - a, after.size() - b});
    for (std::size_t k = 0; k < run; ++k) {
      if (!alike(a + k, b + k)) return false;
    }
    return true;
  };
  std::size_t a = 0, b = 0;
  while (a < before.size() && b < after.size()) {
    if (alike(a, b)) {
      carry(a++, b++, carried.offsets);
      continue;
    }
    const auto [old_skip, new_skip] =
        fewest_skipped([&](std::size_t olds, std::size_t news) { return together(a + olds, b + news); });
    // As many for as many are the same ones with other sizes; what has not grown still fits where it was.
    for (std::size_t k = 0; k < old_skip && old_skip == new_skip; ++k) {
      const Item &was = old_problem.items[before[a + k]], &is = problem.items[after[b + k]];
      if (is.alignment == was.alignment && is.stream_class == was.stream_class)
        carry(a + k, b + k, is.size <= was.size ? carried.offsets : carried.grown);
    }
    a += old_skip;
    b += new_skip;
  }
  return carried;
}

}  // namespace stowage::planner::placement
