// The depth-first search over choices and parts, without recursion.
//
// A frame is an open choice; it solves one range of sections, a part of what the frame before it left. Ranges
// that still wait are a linked list through the agenda. When a frame has no way left, its range can not be
// solved, and neither can the choice that made this part: so the search goes back to that choice, past all
// frames of its other parts.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/placement/search/branching.h"
#include "planner/placement/search/state/memo.h"

namespace stowage::planner::placement::search {

class Tree {
 public:
  /// Requires: all arguments outlive the tree.
  Tree(State& state, Brancher& brancher, FailedStates& failed, const SearchOptions& options);

  /// Starts over and searches until a placement is found, none can be, `nodes` are done or the meter stops
  /// it.
  Outcome run(std::uint64_t nodes, WorkMeter& meter);

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// A range to solve, and the one to solve after it.
  struct Goal {
    Range range;
    std::uint64_t key = 0;         ///< of the tasks that are left there
    Units slack = 0;               ///< the least of its sections
    std::uint32_t parent = kNone;  ///< the frame whose choice made this part
    std::uint32_t next = kNone;
  };
  struct Frame {
    Goal goal;
    State::Mark mark;
    Choice choice;
    std::uint64_t state_key = 0;                ///< of the whole state, when the frame was opened
    std::uint32_t goals = 0;                    ///< size of the agenda, when the frame was opened
    std::uint32_t next_task = 0, end_task = 0;  ///< in tasks_
    std::uint32_t first_task = 0;
    bool wasted = false;
  };

  /// Opens a frame for the goal, or says that its range has nothing left. False if it is known to fail.
  bool open(const Goal& goal, bool& opened);
  /// Continues with the frame's next way. False if there is none.
  bool advance(std::uint32_t frame_index);
  void close_down_to(std::uint32_t frame);
  /// What the frame's choice left of its range becomes the next goals.
  void add_what_is_left(std::uint32_t frame_index, bool split);
  /// The range, or its parts, become the goals before `next`. `key` is that of the tasks left in the range.
  void add_goals(const Range& range, std::uint64_t key, std::uint32_t parent, std::uint32_t next, bool split);
  /// Divides the range where no task crosses.
  void find_parts(Range range);
  void add_part(const Range& range);
  [[nodiscard]] std::uint64_t key_of(const Range& range) const;

  State* state_;
  Brancher* brancher_;
  FailedStates* failed_;
  const SearchOptions* options_;
  std::vector<Frame> frames_;
  std::vector<Goal> goals_;
  std::vector<Goal> parts_;
  std::vector<std::uint32_t> tasks_;
  std::uint32_t head_ = kNone;  ///< the goal that is next
};

}  // namespace stowage::planner::placement::search
