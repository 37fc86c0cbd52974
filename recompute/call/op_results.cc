// OpCall: what a call has made and written.
#include <algorithm>

#include "recompute/call/op_call.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/raw_writes.h"

namespace stowage::recompute {

void OpCall::add_results(c10::ArrayRef<c10::IValue> results) {
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    if (const at::Tensor* const tensor = tensor_in(results[i])) {
      add_result(*tensor, i, -1);
    } else if (is_list_of_tensors(results[i])) {
      std::int32_t element = 0;
      for (const c10::IValue& listed : results[i].toListRef()) {
        if (const at::Tensor* const one = tensor_in(listed)) add_result(*one, i, element);
        ++element;
      }
    }
  }
}

void OpCall::add_result(const at::TensorBase& tensor, std::uint32_t index, std::int32_t element) {
  if (!has_plain_memory(tensor)) {
    hidden_ = hidden_ || !is_meta(tensor);
    return;
  }
  const c10::Storage& storage = tensor.storage();
  if (storage.nbytes() == 0 || storage.data() == nullptr) return;
  if (StorageRecord* const known = machine_.book.find(storage.unsafeGetStorageImpl())) {
    const bool ours =
        is_used(known) || is_given(known) || std::find(made_.begin(), made_.end(), known) != made_.end();
    if (!ours && below_ != Below::kOps) known->pinned = true;  // it came from nowhere that was seen
    return;
  }
  StorageRecord& record = machine_.book.add(storage, new_value(false, index, element, storage.nbytes()));
  machine_.uses.note(record, machine_.op_number);
  record.exposed = is_written_unseen(*storage.unsafeGetStorageImpl()) ||
                   (!traits_.trusted && traits_.name.compare(0, 6, "c10d::") == 0);
  note_stream(record);
  made_.push_back(&record);
}

Ref<Value> OpCall::new_value(bool written, std::uint32_t index, std::int32_t element, std::uint64_t bytes) {
  Ref<Value> value(new Value);
  if (recipe_) value->set_recipe(recipe_, depth_, written, index, element, bytes);
  return value;
}

void OpCall::renew_written() {
  for (std::uint32_t i = 0; i < uses_.size(); ++i) {
    StorageRecord& record = *uses_[i].record;
    if (!uses_[i].written || record.current->write != WriteState::kClosing || !record.alive()) continue;
    const c10::StorageImpl& impl = *record.address;
    const bool moved = impl.nbytes() != record.bytes || impl.data() != record.data;
    if (moved) record.pinned = true;
    const bool plain_leaf = moved || uses_[i].statistics;
    machine_.book.overwrite(record,
                            plain_leaf ? Ref<Value>(new Value) : new_value(true, i, -1, record.bytes));
  }
  for (const Part& part : parts_) {
    if (part.written && part.record->current->write == WriteState::kClosing && part.record->alive())
      machine_.book.overwrite(*part.record, Ref<Value>(new Value));
  }
}

}  // namespace stowage::recompute
