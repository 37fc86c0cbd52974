#include "recompute/rewrite/encodings.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "recompute/encode/codecs.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// The record of what the tensor shows all of.
StorageRecord* record_of_all(const at::Tensor& tensor) {
  if (!shows_plain_memory(tensor) || !shows_all(tensor)) return nullptr;
  return machine().book.find(tensor.storage().unsafeGetStorageImpl());
}

// Without a recipe it would stay in memory, whatever is made of it.
Value* encodable_value(const at::Tensor& tensor) {
  StorageRecord* const record = record_of_all(tensor);
  const bool goes = record != nullptr && !record->is_reached() && record->current->recipe;
  return goes && !record->current->encoded.defined() ? record->current.get() : nullptr;
}

void keep(const at::Tensor& tensor, at::Tensor encoded) {
  const Lock lock(machine().mutex);
  Value* const value = encodable_value(tensor);
  if (value == nullptr) return;
  value->encoded = std::move(encoded);
  ++machine().counters.encodings;
  machine().counters.encoded_total += Bytes(tensor.nbytes());
}

bool may_encode(const at::Tensor& tensor) {
  const Lock lock(machine().mutex);
  return encodable_value(tensor) != nullptr;
}

// Of an image, or of a body: the indices are those within it.
std::int64_t largest_index(const at::Tensor& pooled, bool flat) {
  std::int64_t elements = pooled.size(-1) * pooled.size(-2);
  if (!flat) elements *= pooled.size(-3);
  return elements - 1;
}

// One op on a few of such tensors fills the memory.
bool is_huge(const at::Tensor& tensor, std::uint64_t limit) { return tensor.nbytes() >= limit / 4; }

// The call gives nothing but a gradient, laid out as `saved` is, with zeros where that is not positive.
bool is_masked(const at::Tensor& saved, c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor* const gradient = tensor_in(arguments[0]);
  const c10::IValue& threshold = arguments.back();
  return threshold.isScalar() && threshold.toScalar().toDouble() == 0 && gradient != nullptr &&
         shows_plain_memory(*gradient) && gradient->scalar_type() == saved.scalar_type() &&
         gradient->sizes() == saved.sizes() && gradient->strides() == saved.strides();
}

at::Tensor take_encoded(const at::Tensor& tensor) {
  const Lock lock(machine().mutex);
  StorageRecord* const record = record_of_all(tensor);
  return record == nullptr ? at::Tensor() : std::exchange(record->current->encoded, at::Tensor());
}

}  // namespace

Encoding::Encoding(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments, std::uint64_t limit)
    : encodable_(traits.encodable), limit_(limit) {
  if (encodable_ != Encodable::kRectified) input_ = arguments[0].toTensor();
}

bool Encoding::is_worth_it(const at::Tensor& tensor) const {
  constexpr std::uint64_t kSmallest = std::uint64_t{1} << 20u;
  return tensor.nbytes() >= std::max(kSmallest, limit_ / 1024) && may_encode(tensor);
}

void Encoding::pack_sign(const at::Tensor& tensor) const {
  {
    const Lock lock(machine().mutex);
    const Value* const value = encodable_value(tensor);
    if (value == nullptr || !value->rectified) return;
  }
  if (is_worth_it(tensor)) keep(tensor, pack_bits(tensor));
}

void Encoding::end(c10::ArrayRef<c10::IValue> results) const {
  if (encodable_ == Encodable::kRectified) {
    const Lock lock(machine().mutex);
    if (Value* const value = encodable_value(results[0].toTensor())) value->rectified = true;
    return;
  }
  if (!input_.requires_grad() || suspended() || this_thread().opaque > 0) return;
  if (!is_huge(input_, limit_)) return;
  const at::Tensor& second = results[1].toTensor();
  if (encodable_ == Encodable::kDropped) {
    if (is_worth_it(second)) keep(second, pack_bits(second));
    return;
  }
  const bool flat = input_.dim() < 5;
  if (is_worth_it(second)) keep(second, narrow_indices(second, largest_index(input_, flat)));
  pack_sign(input_);
}

at::Tensor decoded_argument(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor* const tensor = tensor_in(arguments[static_cast<std::size_t>(traits.encoded_argument)]);
  if (tensor == nullptr || (tensor->is_floating_point() && !is_masked(*tensor, arguments))) return {};
  const at::Tensor encoded = take_encoded(*tensor);
  if (!encoded.defined()) return {};
  return tensor->scalar_type() == at::kLong ? widen_indices(encoded, *tensor) : unpack_bits(encoded, *tensor);
}

}  // namespace stowage::recompute
