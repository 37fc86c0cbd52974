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
  /// The kinds that are no `members` of `made` yet, with all effort. Those that are keep their places, but
  /// for what has to move: with little effort, these are placed around the others and no lower placement of
  /// all is sought.
  [[nodiscard]] Result<Arrangement> keep(Arrangement made, std::vector<bool> members, Effort effort);
  /// True if the last keep() sought no lower placement, which all effort would.
  [[nodiscard]] bool has_spared() const { return spared_; }

 private:
  [[nodiscard]] std::vector<std::uint32_t> largest_first() const;
  Result<Arrangement> place_others(Arrangement made, std::vector<bool> members, Effort effort);
  Status mend(const std::vector<bool>& members, Arrangement& made, Effort effort);
  Status begin_with(const std::vector<bool>& members, Arrangement& made, Effort effort);
  Status begin_with_large(const std::vector<bool>& members, const JointProblem& part, Arrangement& made);
  Status complete(const std::vector<bool>& members, Arrangement& made, std::uint32_t fresh, Effort effort);

  JointTask& task_;
  bool spared_ = false;
};

}  // namespace stowage::planner
