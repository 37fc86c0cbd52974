// Where the exact search branches, and in which order.
//
// Thread safety: none; a Brancher serves one search.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/placement/search/search.h"
#include "planner/placement/search/state/state.h"

namespace stowage::planner::placement::search {

/// A stretch of the circle of sections: [begin, end), or [begin, sections) and [0, end) if end <= begin.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Calls f(begin, end) for the one or two plain stretches of `range`.
template <class F>
void for_stretches(const Range& range, std::uint32_t sections, const F& f) {
  if (range.begin < range.end) return f(range.begin, range.end);
  f(range.begin, sections);
  f(std::uint32_t{0}, range.end);
}

/// "One of `tasks` lies at `level` in `section`, or none does."
struct Choice {
  std::uint32_t section = 0;
  Units level = 0;
  bool forced = false;  ///< the first task may as well lie there: no other way needs a try
};

class Brancher {
 public:
  Brancher(const State& state, const SearchOptions& options);

  /// The order of a restart; larger comes first.
  void set_order(Order order, Rule rule, double noise, std::uint64_t seed);

  /// Appends the tasks to try, best first, to `tasks`. False if nothing is left in the range.
  bool choose(const Range& range, std::vector<std::uint32_t>& tasks, Choice& choice);

  /// The branch in which no task lies at the level: raises those that could. False at a dead end.
  bool waste(const Choice& choice, State& state);

  /// Table entries read since the beginning.
  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  struct Rise {
    std::uint32_t task;
    Units support;  ///< the lowest top that could bear it and is not in the section; kGone: none
  };

  [[nodiscard]] Units lowest_floor(const Range& range) const;
  void find_low(const Range& range, Units level);
  void find_low_anywhere(const Range& range);
  void find_candidates(const Range& range);
  void count_candidates(const Range& range);
  [[nodiscard]] std::uint32_t fewest(const Range& range) const;
  [[nodiscard]] std::uint32_t fewest_of_first() const;
  [[nodiscard]] bool lies_below_all(std::uint32_t task, const Range& range) const;
  [[nodiscard]] Units support(std::uint32_t task, std::uint32_t section);

  const State* state_;
  const SearchOptions* options_;
  Rule rule_ = Rule::kFewest;
  std::vector<double> priority_;      ///< by task
  std::vector<std::uint32_t> found_;  ///< candidates of the range
  std::vector<std::int32_t> count_;   ///< by section, one more: candidates there
  std::vector<Rise> rises_;
  std::vector<char> low_;  ///< by section: part of a plateau that may be branched on
  std::uint64_t work_ = 0;
};

}  // namespace stowage::planner::placement::search
