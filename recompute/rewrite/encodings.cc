#include "recompute/rewrite/encodings.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "recompute/encode/codecs.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/rewrite/seen_record.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// Without a recipe it would stay in memory, whatever is made of it.
Value* encodable_value(const at::Tensor& tensor) {
  StorageRecord* const record = seen_record_of(tensor);
  const bool goes = record != nullptr && record->current->recipe;
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

bool is_worth_it(const at::Tensor& tensor, std::uint64_t limit) {
  constexpr std::uint64_t kSmallest = std::uint64_t{1} << 20u;
  if (tensor.nbytes() < std::max(kSmallest, limit / 1024)) return false;
  const Lock lock(machine().mutex);
  return encodable_value(tensor) != nullptr;
}

// The indices are those within an image, or a body.
std::int64_t largest_index(const at::Tensor& pooled, Encodable encodable) {
  const std::int64_t image = pooled.size(-1) * pooled.size(-2);
  return (encodable == Encodable::kPooledBodies ? image * pooled.size(-3) : image) - 1;
}

// One op on a few of such tensors fills the memory.
bool is_huge(const at::Tensor& tensor, std::uint64_t limit) { return tensor.nbytes() >= limit / 4; }

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
    if (is_worth_it(second, limit_)) keep(second, pack_bits(second));
    return;
  }
  if (is_worth_it(second, limit_)) keep(second, narrow_indices(second, largest_index(input_, encodable_)));
}

at::Tensor decoded_argument(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor* const tensor = tensor_in(arguments[static_cast<std::size_t>(traits.encoded_argument)]);
  if (tensor == nullptr) return {};
  const at::Tensor encoded = take_encoded(*tensor);
  if (!encoded.defined()) return {};
  return tensor->scalar_type() == at::kLong ? widen_indices(encoded, *tensor) : unpack_bits(encoded, *tensor);
}

}  // namespace stowage::recompute
