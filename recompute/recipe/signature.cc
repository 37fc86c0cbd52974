#include "recompute/recipe/signature.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "recompute/ops/argument.h"
#include "recompute/ops/op_traits.h"
#include "recompute/recipe/modelled_cost.h"
#include "recompute/threads/seen_thread.h"

namespace stowage::recompute {
namespace {

Argument argument_of(const c10::IValue& value) {
  Argument argument;
  if (is_defined_tensor(value)) {
    argument.kind = ArgumentKind::kTensor;
  } else if (is_list_of_tensors(value)) {
    argument.kind = value.isTensorList() ? ArgumentKind::kTensorList : ArgumentKind::kOptionalTensorList;
    for (const c10::IValue& element : value.toListRef())
      argument.present.push_back(is_defined_tensor(element));
  } else {
    // A copy: the job may change its list.
    argument.plain = value.isList() ? value.deepcopy() : value;
  }
  return argument;
}

Geometry geometry_of(const Seen& seen) {
  const c10::TensorImpl& impl = *seen.tensor->unsafeGetTensorImpl();
  Geometry geometry;
  geometry.view.set_sizes(impl.sizes());
  geometry.view.set_strides(impl.strides());
  geometry.offset = impl.storage_offset();
  geometry.storage_bytes = seen.storage_bytes;
  geometry.keys = impl.key_set();
  geometry.dtype = impl.dtype();
  geometry.device = impl.device();
  geometry.wrapped_number = impl.is_wrapped_number();
  geometry.role = seen.role;
  return geometry;
}

}  // namespace

Obeyed Signature::obeyed() const { return {op->products, cuda}; }

void Signature::note_cost(std::uint64_t ns, std::uint64_t made_bytes) {
  if (cuda) {
    if (calls_++ == 0) cost_ns_ = modelled_cost_ns(*this, made_bytes);
    return;
  }
  // The least of many is the own time of a call: the first set things up, and a busy machine delays others.
  constexpr std::uint32_t kMeasured = 16;
  if (calls_ == kMeasured) return;
  least_ns_ = calls_++ == 0 ? ns : std::min(least_ns_, ns);
  // Steps of 1/8 to 1/4 of the figure.
  const int steps = std::max(0, static_cast<int>(std::bit_width(least_ns_)) - 3);
  cost_ns_ = least_ns_ >> steps << steps;
}

Ref<Signature> SignatureBook::signature_of(const CallHash& hash, const OpTraits& op,
                                           c10::ArrayRef<c10::IValue> arguments,
                                           c10::ArrayRef<Seen> tensors) {
  const bool cuda =
      std::any_of(tensors.begin(), tensors.end(), [](const Seen& seen) { return seen.tensor->is_cuda(); });
  const Environment environment = Environment::present({op.products, cuda});
  const Fingerprint fingerprint = hash.fingerprint(op, arguments, tensors, environment);
  Slot& slot = slot_of(fingerprint);
  if (slot.signature) return slot.signature;
  Ref<Signature> made(new Signature);
  made->op = &op;
  made->shape = hash.shape();
  made->environment = environment;
  made->grad_mode = c10::GradMode::is_enabled();
  made->ignores_lazy_bits = ignores_lazy_bits();
  made->cuda = cuda;
  for (const c10::IValue& argument : arguments) made->arguments.push_back(argument_of(argument));
  for (const Seen& seen : tensors) made->tensors.push_back(geometry_of(seen));
  slot = {fingerprint, made};
  if (++used_ * 2 > slots_.size()) make_space();
  return made;
}

// The one with this fingerprint, or the free one where it belongs.
SignatureBook::Slot& SignatureBook::slot_of(const Fingerprint& fingerprint) {
  std::size_t at = fingerprint.low & (slots_.size() - 1);
  while (slots_[at].signature && slots_[at].fingerprint != fingerprint) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

// A small table grows; from a large one the signatures go that no recipe names.
void SignatureBook::make_space() {
  constexpr std::size_t kLarge = 16384;
  std::size_t slots = slots_.size();
  std::vector<Slot> kept;
  for (Slot& slot : slots_) {
    if (slot.signature && (slots < kLarge || !slot.signature.alone())) kept.push_back(std::move(slot));
  }
  if (kept.size() * 4 > slots) slots *= 2;
  slots_ = std::vector<Slot>(slots);
  used_ = kept.size();
  for (Slot& slot : kept) slot_of(slot.fingerprint) = std::move(slot);
}

}  // namespace stowage::recompute
