// What could leave before one op, the least score first.
//
// While more and more leaves, scores only rise: what is away costs whatever starts from it, and is needed for
// it. So a score that was least is computed again when its turn comes, and all the others wait for theirs.
// What makes scores fall, a recomputation, needs a new ranking. Thread safety: none. Deterministic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "core/step_log.h"

namespace stowage::planner::schedule {

class Ranking {
 public:
  struct Entry {
    double score = std::numeric_limits<double>::lowest();  ///< at most what it is now
    std::uint32_t buffer = 0;
    ActionKind way = ActionKind::kEvict;
    bool settled = false;  ///< the score is that of this way, whatever others there are

    friend bool operator>(const Entry& one, const Entry& other) {
      return std::tie(one.score, one.buffer, one.way) > std::tie(other.score, other.buffer, other.way);
    }
  };

  /// Of these. `score(buffer)` gives an entry, or nothing for what cannot leave before this op.
  template <typename MayLeave, typename Score>
  void reset(const std::vector<std::uint32_t>& buffers, MayLeave may_leave, Score score) {
    entries_.clear();
    passed_.clear();
    for (const std::uint32_t buffer : buffers) {
      if (!may_leave(buffer)) {
        passed_.push_back({.buffer = buffer});
      } else if (const std::optional<Entry> entry = score(buffer)) {
        entries_.push_back(*entry);
      }
    }
    std::make_heap(entries_.begin(), entries_.end(), std::greater<>());
  }
  void push(const Entry& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), std::greater<>());
  }

  /// Takes out the least one that may leave.
  template <typename MayLeave, typename Score>
  std::optional<Entry> take_least(MayLeave may_leave, Score score) {
    std::erase_if(passed_, [&](const Entry& entry) {
      if (!may_leave(entry.buffer)) return false;
      push(entry);
      return true;
    });
    while (!entries_.empty()) {
      const Entry entry = pop();
      if (!may_leave(entry.buffer)) {
        passed_.push_back(entry);
        continue;
      }
      const std::optional<Entry> now = entry.settled ? entry : score(entry.buffer);
      if (!now) continue;
      if (entries_.empty() || !(*now > entries_.front())) return now;
      push(*now);
    }
    return std::nullopt;
  }

 private:
  Entry pop() {
    std::pop_heap(entries_.begin(), entries_.end(), std::greater<>());
    const Entry least = entries_.back();
    entries_.pop_back();
    return least;
  }

  std::vector<Entry> entries_;  ///< a heap
  std::vector<Entry> passed_;   ///< those that could not leave when their turn came
};

}  // namespace stowage::planner::schedule
