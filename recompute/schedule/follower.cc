#include "recompute/schedule/follower.h"

namespace stowage::recompute {

void Follower::follow(Schedule schedule) {
  schedule_ = std::move(schedule);
  on_course_ = false;
}

void Follower::leave() {
  schedule_.reset();
  made_.clear();
  on_course_ = false;
}

void Follower::act(const Action& action) {
  if (action.entry >= made_.size()) return void(++counts_.refused);
  const Made& made = made_[action.entry];
  StorageRecord* const record = book_.find(made.storage);
  if (record == nullptr || record->serial != made.serial) return void(++counts_.refused);
  if (action.kind == ActionKind::kRematerialize) return residency_.restore(*record);
  ++(residency_.evict(*record) ? counts_.evictions : counts_.refused);
}

void Follower::before_op(std::uint64_t shape) {
  if (!schedule_ || !on_course_) return;
  if (next_op_ >= schedule_->shape_hashes.size() || schedule_->shape_hashes[next_op_] != shape) {
    on_course_ = false;
    ++counts_.left;
    return;
  }
  const std::vector<Action>& actions = schedule_->actions;
  for (; next_action_ < actions.size() && actions[next_action_].op == next_op_; ++next_action_)
    act(actions[next_action_]);
  ++next_op_;
}

void Follower::made(const StorageRecord& record) {
  if (on_course_) made_.push_back({record.address, record.serial});
}

void Follower::next_iteration() {
  if (!schedule_) return;
  if (on_course_) ++(next_op_ == schedule_->shape_hashes.size() ? counts_.iterations : counts_.left);
  made_.clear();
  next_op_ = next_action_ = 0;
  on_course_ = true;
}

}  // namespace stowage::recompute
