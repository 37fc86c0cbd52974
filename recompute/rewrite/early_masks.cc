#include "recompute/rewrite/early_masks.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <memory>
#include <mutex>
#include <utility>

#include "core/support/mix.h"
#include "recompute/ops/argument.h"
#include "recompute/rewrite/seen_record.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;
using torch::autograd::Node;

constexpr std::uint64_t kSmallest = std::uint64_t{1} << 16u;  // bytes
constexpr std::size_t kIndices = 7;                           // argument of a pooling's backward op

// One state of a storage.
std::uint64_t key_of(const StorageRecord& record) { return mix(mix(record.serial) + record.writes) | 1u; }

std::uint64_t key_of(const StorageRecord& indices, const StorageRecord& pooled) {
  return mix(key_of(indices) + mix(key_of(pooled)));
}

bool is_asked_for(Node* node) {
  const auto* const infos = torch::autograd::get_current_graph_task_exec_info();
  if (infos == nullptr || infos->empty()) return false;
  const auto info = infos->find(node);
  return info == infos->end() || (info->second.captures_ && !info->second.captures_->empty());
}

// The pooling's node passes what it makes to a ReLU's, and to nobody else.
bool is_unseen_until_relu() {
  const auto node = torch::autograd::get_current_node();  // of another kind of pointer in each torch
  if (!node || node->num_outputs() != 1 || !node->post_hooks().empty()) return false;
  if (node->name() != "MaxPool2DWithIndicesBackward0" && node->name() != "MaxPool3DWithIndicesBackward0")
    return false;
  Node* const next = node->next_edge(0).function.get();
  return next != nullptr && next->name() == "ReluBackward0" && next->pre_hooks().empty() &&
         next->tensor_pre_hooks().empty() && next->retains_grad_hooks().empty() && !is_asked_for(next);
}

}  // namespace

void note_pooled(const at::Tensor& rectified, c10::ArrayRef<c10::IValue> results) {
  const at::Tensor &pooled = results[0].toTensor(), &indices = results[1].toTensor();
  if (!rectified.requires_grad() || rectified.nbytes() < kSmallest) return;
  if (suspended() || this_thread().opaque > 0) return;
  const Lock lock(machine().mutex);
  StorageRecord* const record = seen_record_of(rectified);
  const StorageRecord *const made = seen_record_of(pooled), *const chosen = seen_record_of(indices);
  if (record == nullptr || made == nullptr || chosen == nullptr) return;
  Value& value = *record->current;
  if (!value.rectified || !value.recipe || value.stand_in) return;
  value.stand_in = std::make_unique<StandIn>(StandIn{pooled.tensor_data(), key_of(*chosen, *made)});
}

EarlyMask early_mask_for(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor *const rectified = tensor_in(arguments[1]), *const indices =
                                                                   tensor_in(arguments[kIndices]);
  const at::Tensor* const gradient = tensor_in(arguments[0]);
  if (rectified == nullptr || indices == nullptr || gradient == nullptr) return {};
  const Lock lock(machine().mutex);
  StorageRecord* const record = seen_record_of(*rectified);
  if (record == nullptr || !record->current->stand_in || !is_unseen_until_relu()) return {};
  const StandIn& stand_in = *record->current->stand_in;
  const StorageRecord *const made = seen_record_of(stand_in.tensor), *const chosen = seen_record_of(*indices);
  if (made == nullptr || chosen == nullptr || key_of(*chosen, *made) != stand_in.key) return {};
  if (gradient->scalar_type() != stand_in.tensor.scalar_type()) return {};
  const std::unique_ptr<StandIn> taken = std::exchange(record->current->stand_in, nullptr);
  return {std::move(taken->tensor), key_of(*record)};
}

void note_masked(const at::Tensor& gradient, const EarlyMask& mask) {
  const Lock lock(machine().mutex);
  if (StorageRecord* const record = seen_record_of(gradient)) record->current->masked_for = mask.rectified;
}

bool is_masked_already(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor *const gradient = tensor_in(arguments[0]), *const rectified = tensor_in(arguments[1]);
  if (gradient == nullptr || rectified == nullptr || !arguments[2].isScalar() ||
      arguments[2].toScalar().toDouble() != 0)
    return false;
  const Lock lock(machine().mutex);
  const StorageRecord *const made = seen_record_of(*gradient), *const record = seen_record_of(*rectified);
  return made != nullptr && record != nullptr && made->current->masked_for != 0 &&
         made->current->masked_for == key_of(*record) && are_alike(*gradient, *rectified);
}

}  // namespace stowage::recompute
