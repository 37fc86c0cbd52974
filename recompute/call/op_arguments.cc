// OpCall: what a call reads and writes.
#include <algorithm>

#include "recompute/call/op_call.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/parameter.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/ops/tensor_parts.h"
#include "recompute/ops/unread.h"
#include "recompute/storage/own_stream.h"

namespace stowage::recompute {

bool OpCall::trains(c10::ArrayRef<c10::IValue> arguments) const {
  if (traits_.statistics < 0) return false;
  return traits_.training < 0 || arguments[static_cast<std::size_t>(traits_.training)].toBool();
}

void OpCall::read_arguments(c10::ArrayRef<c10::IValue> arguments) {
  const bool training = trains(arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (const at::Tensor* const tensor = tensor_in(arguments[i])) {
      reads(arguments, i) ? read_tensor(*tensor, i, training) : note_unread(*tensor);
    } else if (is_list_of_tensors(arguments[i])) {
      for (const c10::IValue& element : arguments[i].toListRef()) {
        if (const at::Tensor* const listed = tensor_in(element)) read_tensor(*listed, i, training);
      }
    } else if (!is_plain(arguments[i])) {
      hidden_ = true;
      if (arguments[i].isStorage()) given_.push_back(arguments[i].toStorage().unsafeGetStorageImpl());
    }
  }
  for (Use& use : uses_) {
    const bool whole = use.role == Role::kOverwritten && !use.statistics;
    if (whole && !(below_ == Below::kPlain && has_plain_memory(*use.tensor) && shows_all(*use.tensor) &&
                   appears_once(use)))
      use.role = Role::kWritten;
  }
}

// Kernels of other kinds, and code of others, may read what PyTorch's own do not.
bool OpCall::reads(c10::ArrayRef<c10::IValue> arguments, std::size_t at) const {
  const bool may_be_unread = traits_.unread != 0 || traits_.convolution_backward;
  return !may_be_unread || below_ != Below::kPlain || !is_unread(traits_, arguments, at);
}

// Its storage is neither brought back nor locked. A recipe has it for its sizes.
void OpCall::note_unread(const at::TensorBase& tensor) {
  if (const c10::Storage* const storage = served_storage(tensor))
    uses_.push_back({&machine_.book.record_of(*storage), &tensor, Role::kUnread, false, false});
}

void OpCall::read_tensor(const at::TensorBase& tensor, std::size_t argument, bool trains) {
  if (may_have_parts(tensor)) read_parts(tensor, traits_.written[argument]);
  if (!shows_plain_memory(tensor)) hidden_ = true;
  const c10::Storage* const storage = served_storage(tensor);
  if (storage == nullptr) return;
  StorageRecord& record = machine_.book.record_of(*storage);
  ++record.locks;
  const auto first = static_cast<std::size_t>(traits_.statistics);
  const bool statistics = traits_.statistics >= 0 && (argument == first || argument == first + 1);
  Use use{&record, &tensor, Role::kRead, traits_.written[argument], statistics};
  if (statistics) use.written = trains;
  if (use.written) {
    const bool whole = statistics || traits_.out[argument] || (traits_.overwrites && argument == 0);
    use.role = whole ? Role::kOverwritten : Role::kWritten;
  }
  uses_.push_back(use);
  if (is_parameter(tensor)) record.parameter = true;  // its recipe stays: what is evicted may start from it
  note_stream(record);
}

// Kernels, and autograd's for tangents, read and write them unseen: from now on they stay. A dense tensor has
// a tangent alone, and where ops come by themselves those that read it do, too.
void OpCall::read_parts(const at::TensorBase& tensor, bool written) {
  if (below_ == Below::kOps && is_dense(tensor)) return;
  TensorParts parts;
  append_parts(tensor, parts);
  for (const at::Tensor& part : parts) {
    const c10::Storage* const storage = served_storage(part);
    if (storage == nullptr) continue;
    StorageRecord& record = machine_.book.record_of(*storage);
    ++record.locks;
    record.pinned = true;
    parts_.push_back({&record, written});
  }
}

bool OpCall::appears_once(const Use& use) const {
  return std::count_if(uses_.begin(), uses_.end(),
                       [&](const Use& other) { return other.record == use.record; }) == 1;
}

// True if the op writes the same storage through another of its tensors; of several such the first counts.
bool OpCall::is_written_by_another(std::size_t at) const {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const bool before = i < at || uses_[at].role == Role::kRead;
    if (i != at && before && uses_[i].record == uses_[at].record && uses_[i].role == Role::kWritten)
      return true;
  }
  return false;
}

bool OpCall::is_given(const StorageRecord* record) const {
  return std::find(given_.begin(), given_.end(), record->address) != given_.end();
}

bool OpCall::is_used(const StorageRecord* record) const {
  return std::any_of(uses_.begin(), uses_.end(), [&](const Use& use) { return use.record == record; });
}

}  // namespace stowage::recompute
