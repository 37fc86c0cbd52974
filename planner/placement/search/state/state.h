// A partial placement of the exact search and what follows from it, with an undo trail.
//
// Placed tasks only show as lower limits of the others: every task that is left has a least offset, which
// starts at the lowest place among the obstacles and rises as tasks below it are placed or as the search
// finds that it can not lie there. From these follow the floor of each section (no task that is left can
// begin lower there) and its slack (capacity less floor less what is left). A negative slack is a dead end.
//
// The state's key is a hash of the tasks that are left with their least offsets: all that decides whether the
// rest can be placed.
//
// Thread safety: none. Nothing is allocated once the trail has grown to its size.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "planner/placement/search/state/model.h"

namespace stowage::planner::placement::search {

/// The least offset of a task that is placed, and the floor of a section that has nothing left.
inline constexpr Units kGone = std::numeric_limits<Units>::max();

class State {
 public:
  /// Nothing placed. `releases`: sections are checked for the room that must stay empty above their floors.
  /// Requires: the model outlives the state.
  State(const Model& model, Units capacity, bool releases);

  /// False if the capacity is too small for some section even before anything is placed.
  [[nodiscard]] bool hopeful() const { return hopeful_; }

  /// Puts the task at its least offset. False at a dead end; the state is then to be undone.
  bool place(std::uint32_t task);
  /// Nothing is to lie lower than `least` for this task. To be followed by settle() once all are raised.
  void raise(std::uint32_t task, Units least);
  /// Brings the floors up to date after raises. False at a dead end.
  bool settle();

  /// The position that undo() returns to.
  struct Mark {
    std::uint32_t limits = 0, floors = 0, placed = 0;
  };
  [[nodiscard]] Mark mark() const {
    return {static_cast<std::uint32_t>(limit_trail_.size()), static_cast<std::uint32_t>(floor_trail_.size()),
            static_cast<std::uint32_t>(placed_.size())};
  }
  void undo(const Mark& mark);

  [[nodiscard]] Units capacity() const { return capacity_; }
  /// kGone once placed.
  [[nodiscard]] Units least(std::uint32_t task) const { return least_[task]; }
  /// kGone where nothing is left.
  [[nodiscard]] Units floor(std::uint32_t section) const { return floor_[section]; }
  /// How much of the section may stay empty, obstacles included. Requires: something is left there.
  [[nodiscard]] Units slack(std::uint32_t section) const {
    return capacity_ - floor_[section] - left_[section];
  }
  /// How many of the tasks that are left live in this section and in the next; after the last section comes
  /// the first one.
  [[nodiscard]] std::uint32_t crossing(std::uint32_t section) const { return crossing_[section]; }
  /// True if the last place() left some section without a task that crosses into the next.
  [[nodiscard]] bool parted() const { return parted_; }
  /// True if no task is left.
  [[nodiscard]] bool complete() const { return placed_.size() == model_->tasks.size(); }
  /// Where the task was placed.
  [[nodiscard]] Units offset(std::uint32_t task) const { return offset_[task]; }
  [[nodiscard]] std::uint64_t key() const { return key_; }
  /// What the task adds to the key. Requires: it is left.
  [[nodiscard]] std::uint64_t key_of(std::uint32_t task) const { return key_of(task, least_[task]); }
  /// The lowest place at `least` or above where no obstacle is in the task's way.
  [[nodiscard]] Units fit(std::uint32_t task, Units least) const;
  /// The tasks of the section that are left, in no order.
  [[nodiscard]] std::span<const std::uint32_t> left_in(std::uint32_t section) const {
    return {waiting_in_.data() + model_->cover.start[section], left_count_[section]};
  }
  /// Table entries read since the beginning.
  [[nodiscard]] std::uint64_t work() const { return work_; }
  [[nodiscard]] const Model& model() const { return *model_; }

 private:
  struct OldLimit {
    std::uint32_t task;
    Units least;
  };
  struct OldFloor {
    std::uint32_t section;
    std::uint32_t witness;
    Units floor;
  };

  [[nodiscard]] std::uint64_t key_of(std::uint32_t task, Units least) const;
  void set_least(std::uint32_t task, Units least);
  void touch(const Task& task);
  bool lift(std::uint32_t task, Units top);
  bool lift_over(std::uint32_t begin, std::uint32_t end, Units top);
  void list_waiting();
  [[nodiscard]] std::uint32_t& place_of(std::uint32_t task, std::uint32_t section);
  void take_out(std::uint32_t task, std::uint32_t begin, std::uint32_t end);
  void put_back(std::uint32_t task, std::uint32_t begin, std::uint32_t end);
  bool refloor(std::uint32_t section, Units at_least);
  bool refloor(std::uint32_t begin, std::uint32_t end);
  [[nodiscard]] Units idle(std::uint32_t section);
  [[nodiscard]] Units held_above(std::uint32_t section, Units floor) const;

  const Model* model_;
  Units capacity_;
  bool releases_;
  std::uint32_t bearer_begin_ = 0, bearer_length_ = 0;  ///< sections of the task that is being placed
  Units bearer_top_ = 0;                                ///< where it ends
  bool hopeful_ = true;
  bool parted_ = false;
  std::uint64_t key_ = 0;
  std::uint64_t work_ = 0;
  std::vector<Units> least_;            ///< by task; one more, kGone, stands for none
  std::vector<Units> size_;             ///< by task
  std::vector<Units> offset_;           ///< by task
  std::vector<Units> floor_, left_;     ///< by section; left_ is the sum of the sizes that are left
  std::vector<std::uint32_t> witness_;  ///< by section: a task that is left whose least offset is the floor
  std::vector<std::uint32_t> crossing_;
  /// The model's cover, in each section those that are left before those that are placed; and by task and
  /// section of its life, wrapped ones first, where in the section's list it stands. Putting the last one
  /// taken out back takes no exchange.
  std::vector<std::uint32_t> waiting_in_, left_count_;
  Lists<std::uint32_t> place_in_;
  std::uint32_t touched_begin_ = 0, touched_end_ = 0, touched_wrapped_ = 0;  ///< sections of raised tasks
  std::vector<OldLimit> limit_trail_;
  std::vector<OldFloor> floor_trail_;
  std::vector<std::uint32_t> placed_;
  std::vector<OldLimit> by_least_;  ///< of idle()
};

}  // namespace stowage::planner::placement::search
