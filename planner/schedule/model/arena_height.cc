#include "planner/schedule/model/arena_height.h"

#include <algorithm>
#include <optional>

#include "planner/placement/solve.h"

namespace stowage::planner::schedule {
namespace {

bool lasts(const Span& span) { return span.from_before && span.end == kOpenEnd; }

// What the iteration leaves behind is there when the next begins, and in one place: what was offloaded for a
// while, and gradients. Which of those is which the log does not say: of one size the first that dies was
// born first.
class Successors {
 public:
  explicit Successors(const std::vector<Span>& spans) {
    for (const Span& span : spans)
      if (span.from_before && span.end != kOpenEnd) dying_.push_back(&span);
    std::sort(dying_.begin(), dying_.end(), [](const Span* a, const Span* b) { return a->end < b->end; });
  }
  /// When the one dies that is left behind by `span`, in the next iteration; nothing if none is known, or not
  /// before the next one is made.
  std::optional<std::uint64_t> take(const Span& span, bool same_buffer) {
    const auto found = std::find_if(dying_.begin(), dying_.end(), [&](const Span* one) {
      return one->bytes == span.bytes && one->end <= span.begin &&
             (!same_buffer || one->buffer == span.buffer);
    });
    if (found == dying_.end()) return std::nullopt;
    const std::uint64_t death = (*found)->end;
    dying_.erase(found);
    return death;
  }
  /// Those that nobody took.
  [[nodiscard]] const std::vector<const Span*>& rest() const { return dying_; }

 private:
  std::vector<const Span*> dying_;  ///< in order of death
};

placement::Item item_of(std::uint64_t birth, std::uint64_t death, std::uint64_t bytes) {
  placement::Item item;
  item.birth = birth;
  item.death = death;
  item.size = Bytes(bytes);
  return item;
}

placement::Problem problem_of(const std::vector<Span>& spans) {
  placement::Problem problem;
  std::uint64_t end = 0;
  for (const Span& span : spans) end = std::max(end, span.end == kOpenEnd ? span.begin + 1 : span.end);
  problem.period = end;
  Successors successors(spans);
  std::vector<const Span*> left;
  for (const Span& span : spans) {
    if (span.from_before) continue;
    if (span.end != kOpenEnd) {
      problem.items.push_back(item_of(span.begin, span.end, span.bytes));
    } else if (const auto death = successors.take(span, /*same_buffer=*/true)) {
      problem.items.push_back(item_of(span.begin, end + *death, span.bytes));
    } else {
      left.push_back(&span);
    }
  }
  for (const Span* const span : left) {
    const std::uint64_t death = successors.take(*span, /*same_buffer=*/false).value_or(0);
    problem.items.push_back(item_of(span->begin, end + death, span->bytes));
  }
  for (const Span* const span : successors.rest())
    problem.items.push_back(item_of(0, span->end, span->bytes));
  std::erase_if(problem.items, [](const placement::Item& item) { return !placement::occupies(item); });
  return problem;
}

}  // namespace

Result<std::uint64_t> arena_height(const std::vector<Span>& spans, std::uint64_t enough,
                                   const std::stop_token& stop) {
  std::uint64_t fixed = 0;
  for (const Span& span : spans)
    if (lasts(span)) fixed += span.bytes;
  placement::Problem problem = problem_of(spans);
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
