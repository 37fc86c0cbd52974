// Places kinds of iterations one after the other, the largest first: each around those that have their places
// already. Kinds that begin or end alike have these addresses in common where that costs no height.
//
// Thread safety: one thread.
#pragma once

#include <vector>

#include "planner/joint_task.h"

namespace stowage::planner {

class OneByOne {
 public:
  enum class Effort { kLittle, kFull };  ///< kLittle: what takes long fails

  /// `task` must outlive it.
  explicit OneByOne(JointTask& task) : task_(task) {}

  /// All kinds. May fail: what two kinds leave alive may meet in a third one alone.
  [[nodiscard]] Result<Arrangement> place(Effort effort);
  /// The kinds that are no `members` of `made` yet. Those that are keep their places, but for what has to
  /// move.
  [[nodiscard]] Result<Arrangement> place_after(Arrangement made, std::vector<bool> members, Effort effort);

 private:
  [[nodiscard]] std::vector<std::uint32_t> largest_first() const;
  Status mend(const std::vector<bool>& members, Arrangement& made);
  Status begin_with(const std::vector<bool>& members, Arrangement& made, Effort effort);
  Status begin_with_large(const std::vector<bool>& members, const JointProblem& part, Arrangement& made);
  Status complete(const std::vector<bool>& members, Arrangement& made, std::uint32_t fresh, Effort effort);

  JointTask& task_;
};

}  // namespace stowage::planner
