#include "recompute/kind.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "core/mix.h"
#include "recompute/modelled_cost.h"

namespace stowage::recompute {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) { state_ = (std::rotl(state_, 23) ^ word) * kGoldenGamma; }
  [[nodiscard]] std::uint64_t value() const { return mix(state_); }

 private:
  std::uint64_t state_ = 0;
};

bool is_defined_tensor(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

bool is_list_of_tensors(const c10::IValue& value) {
  return value.isTensorList() || value.isOptionalTensorList();
}

void add_plain(Hash& hash, const c10::IValue& value) {
  if (value.isInt()) return hash.add(static_cast<std::uint64_t>(value.toInt()));
  if (value.isDouble()) return hash.add(std::bit_cast<std::uint64_t>(value.toDouble()));
  if (value.isBool()) return hash.add(value.toBool() ? 2 : 1);
  if (value.isString()) return hash.add(std::hash<std::string>{}(value.toStringRef()));
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) add_plain(hash, element);
  }
}

bool same_plain(const c10::IValue& a, const c10::IValue& b) {
  if (a.isInt()) return b.isInt() && a.toInt() == b.toInt();
  if (a.isNone()) return b.isNone();
  if (a.isBool()) return b.isBool() && a.toBool() == b.toBool();
  if (a.isDouble())  // by bits: -0.0 is not 0.0, and NaN is itself
    return b.isDouble() &&
           std::bit_cast<std::uint64_t>(a.toDouble()) == std::bit_cast<std::uint64_t>(b.toDouble());
  if (a.isList()) {
    if (!b.isList() || a.isIntList() != b.isIntList() || a.isDoubleList() != b.isDoubleList()) return false;
    const c10::ArrayRef<c10::IValue> one = a.toListRef();
    const c10::ArrayRef<c10::IValue> other = b.toListRef();
    return one.size() == other.size() && std::equal(one.begin(), one.end(), other.begin(), same_plain);
  }
  if (a.isString()) return b.isString() && a.toStringRef() == b.toStringRef();
  if (a.isDevice()) return b.isDevice() && a.toDevice() == b.toDevice();
  if (a.isTensor()) return b.isTensor();  // neither is defined
  if (a.isGenerator()) return b.isGenerator() && a.toGenerator() == b.toGenerator();
  if (a.isComplexDouble()) return b.isComplexDouble() && a.is(b);
  return false;
}

std::uint64_t hash_of(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<Seen> tensors) {
  Hash hash;
  hash.add(reinterpret_cast<std::uintptr_t>(&op));
  for (const c10::IValue& argument : arguments) {
    if (!argument.isTensor() && !is_list_of_tensors(argument)) add_plain(hash, argument);
  }
  for (const Seen& seen : tensors) {
    const c10::TensorImpl& impl = *seen.tensor->unsafeGetTensorImpl();
    for (const std::int64_t size : impl.sizes()) hash.add(static_cast<std::uint64_t>(size));
    for (const std::int64_t stride : impl.strides()) hash.add(static_cast<std::uint64_t>(stride));
    hash.add(static_cast<std::uint64_t>(impl.storage_offset()) ^ (seen.storage_bytes << 20u));
    hash.add(impl.key_set().raw_repr());
  }
  return hash.value();
}

bool same_tensor(const Geometry& known, const Seen& seen) {
  const c10::TensorImpl& impl = *seen.tensor->unsafeGetTensorImpl();
  return known.view.sizes_arrayref() == impl.sizes() && known.view.strides_arrayref() == impl.strides() &&
         known.offset == impl.storage_offset() && known.storage_bytes == seen.storage_bytes &&
         known.role == seen.role && known.keys == impl.key_set() && known.dtype == impl.dtype() &&
         known.device == impl.device() && known.wrapped_number == impl.is_wrapped_number();
}

bool same_argument(const Argument& known, const c10::IValue& value) {
  if (known.kind == ArgumentKind::kPlain) return !is_defined_tensor(value) && same_plain(known.plain, value);
  if (known.kind == ArgumentKind::kTensor) return is_defined_tensor(value);
  const bool as_list = known.kind == ArgumentKind::kTensorList;
  if (as_list ? !value.isTensorList() : !value.isOptionalTensorList()) return false;
  const c10::ArrayRef<c10::IValue> elements = value.toListRef();
  return std::equal(
      elements.begin(), elements.end(), known.present.begin(), known.present.end(),
      [](const c10::IValue& element, bool present) { return is_defined_tensor(element) == present; });
}

bool is_of(const Kind& kind, const OpTraits& op, c10::ArrayRef<c10::IValue> arguments,
           c10::ArrayRef<Seen> tensors) {
  return kind.op == &op && kind.grad_mode == c10::GradMode::is_enabled() &&
         std::equal(kind.tensors.begin(), kind.tensors.end(), tensors.begin(), tensors.end(), same_tensor) &&
         std::equal(kind.arguments.begin(), kind.arguments.end(), arguments.begin(), arguments.end(),
                    same_argument);
}

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

void Kind::note_cost(std::uint64_t ns, std::uint64_t made_bytes) {
  const bool modelled = std::any_of(tensors.begin(), tensors.end(),
                                    [](const Geometry& tensor) { return tensor.device.is_cuda(); });
  if (modelled) {
    if (calls_++ == 0) cost_ns_ = modelled_cost_ns(*this, made_bytes);
    return;
  }
  constexpr std::uint32_t kMeasured = 3;  // the first may set things up; the least of a few is the call's own
  if (calls_ == kMeasured) return;
  least_ns_ = calls_++ == 0 ? ns : std::min(least_ns_, ns);
  // Steps of 1/8 to 1/4 of the figure.
  const int steps = std::max(0, static_cast<int>(std::bit_width(least_ns_)) - 3);
  cost_ns_ = least_ns_ >> steps << steps;
}

Ref<Kind> KindBook::kind_of(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments,
                            c10::ArrayRef<Seen> tensors) {
  const std::uint64_t hash = hash_of(op, arguments, tensors);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at]; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at]->hash == hash && is_of(*slots_[at], op, arguments, tensors)) return slots_[at];
  }
  Ref<Kind> made(new Kind);
  made->op = &op;
  made->hash = hash;
  made->grad_mode = c10::GradMode::is_enabled();
  for (const c10::IValue& argument : arguments) made->arguments.push_back(argument_of(argument));
  for (const Seen& seen : tensors) made->tensors.push_back(geometry_of(seen));
  slots_[at] = made;
  if (++used_ * 2 > slots_.size()) make_space();
  return made;
}

// A small table grows; from a large one the kinds go that no recipe names.
void KindBook::make_space() {
  constexpr std::size_t kLarge = 16384;
  std::size_t slots = slots_.size();
  std::vector<Ref<Kind>> kept;
  for (Ref<Kind>& kind : slots_) {
    if (kind && (slots < kLarge || !kind.alone())) kept.push_back(std::move(kind));
  }
  if (kept.size() * 4 > slots) slots *= 2;
  slots_.assign(slots, {});
  used_ = kept.size();
  for (Ref<Kind>& kind : kept) {
    std::size_t at = kind->hash & (slots - 1);
    while (slots_[at]) at = (at + 1) & (slots - 1);
    slots_[at] = std::move(kind);
  }
}

}  // namespace stowage::recompute
