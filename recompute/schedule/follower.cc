#include "recompute/schedule/follower.h"

#include <ATen/core/Tensor.h>

#include <string_view>

#include "core/support/mix.h"
#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) { hash_ = mix(hash_ + kGoldenGamma + word); }
  void add(std::string_view text) {
    std::uint64_t fnv = 0xcbf29ce484222325u;
    for (const char letter : text) fnv = (fnv ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    add(fnv);
  }
  void add(const at::Tensor& tensor) {
    add(static_cast<std::uint64_t>(tensor.scalar_type()));
    if (!is_dense(tensor)) return add(tensor.key_set().raw_repr());
    for (const std::int64_t size : tensor.sizes()) add(static_cast<std::uint64_t>(size));
    add(static_cast<std::uint64_t>(tensor.dim()));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace

std::uint64_t signature_of(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments) {
  Hash hash;
  hash.add(std::string_view(traits.name));
  const auto add = [&hash](const c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage())
      hash.add(value.toTensor());
  };
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensorList() || argument.isOptionalTensorList()) {
      for (const c10::IValue& element : argument.toListRef()) add(element);
    } else {
      add(argument);
    }
  }
  return hash.value();
}

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

void Follower::before_op(std::uint64_t signature) {
  if (!schedule_ || !on_course_) return;
  if (next_op_ >= schedule_->signatures.size() || schedule_->signatures[next_op_] != signature) {
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
  if (on_course_) ++(next_op_ == schedule_->signatures.size() ? counts_.iterations : counts_.left);
  made_.clear();
  next_op_ = next_action_ = 0;
  on_course_ = true;
}

}  // namespace stowage::recompute
