#include "recompute/recipe/call_hash.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "recompute/ops/argument.h"
#include "recompute/ops/op_traits.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/recipe/signature.h"
#include "recompute/threads/seen_thread.h"

namespace stowage::recompute {
namespace {

enum class Tag : std::uint8_t {
  kNoTensor,
  kNone,
  kInt,
  kDouble,
  kBool,
  kString,
  kComplex,
  kDevice,
  kGenerator,
  kList
};

void add(HashChains& chains, Tag tag, std::uint64_t content) {
  chains.add(static_cast<std::uint64_t>(tag));
  chains.add(content);
}

void add_double(HashChains& chains, double number) {  // by bits: -0.0 is not 0.0, and NaN is itself
  add(chains, Tag::kDouble, std::bit_cast<std::uint64_t>(number));
}

void add_string(HashChains& chains, std::string_view text) {
  add(chains, Tag::kString, text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t length = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), length);
    chains.add(word);
    text.remove_prefix(length);
  }
}

// Where it stands, among the call's arguments and in a list, is part of the call's shape.
void add_shape(HashChains& chains, std::size_t argument, std::size_t element, const at::Tensor& tensor) {
  const std::uint64_t position = static_cast<std::uint64_t>(argument) << 16u | (element & 0xffffu);
  const auto type = static_cast<std::uint8_t>(tensor.scalar_type());
  if (!is_dense(tensor)) {
    if (!tensor.has_storage()) return;
    constexpr std::uint32_t kNoSizes = 0xff;
    chains.add(position, kNoSizes << 8u | type);
    return chains.add(tensor.key_set().raw_repr());
  }
  const c10::IntArrayRef sizes = tensor.unsafeGetTensorImpl()->sizes();
  chains.add(position, static_cast<std::uint32_t>(sizes.size() << 8u) | type);
  for (const std::int64_t size : sizes) chains.add(static_cast<std::uint64_t>(size));
}

// What is no tensor: the shape has those.
void add_plain(HashChains& chains, const c10::IValue& value) {
  if (value.isTensor()) {
    if (!is_defined_tensor(value)) chains.add(static_cast<std::uint64_t>(Tag::kNoTensor));
    return;
  }
  if (value.isInt()) return add(chains, Tag::kInt, static_cast<std::uint64_t>(value.toInt()));
  if (value.isNone()) return chains.add(static_cast<std::uint64_t>(Tag::kNone));
  if (value.isBool()) return add(chains, Tag::kBool, value.toBool() ? 1 : 0);
  if (value.isDouble()) return add_double(chains, value.toDouble());
  if (value.isString()) return add_string(chains, value.toStringRef());
  if (value.isComplexDouble()) {
    chains.add(static_cast<std::uint64_t>(Tag::kComplex));
    add_double(chains, value.toComplexDouble().real());
    return add_double(chains, value.toComplexDouble().imag());
  }
  if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    chains.add(static_cast<std::uint64_t>(Tag::kDevice));
    return chains.add(static_cast<std::uint64_t>(device.type()), static_cast<std::uint8_t>(device.index()));
  }
  if (value.isGenerator()) {  // its signature keeps it, so that no other has its address
    const void* const generator = value.toGenerator().unsafeGetGeneratorImpl();
    return add(chains, Tag::kGenerator, reinterpret_cast<std::uintptr_t>(generator));
  }
  if (!value.isList()) return;  // nothing else is plain
  const c10::ArrayRef<c10::IValue> elements = value.toListRef();
  add(chains, Tag::kList, elements.size());
  for (const c10::IValue& element : elements) add_plain(chains, element);
}

// All of a tensor but its shape.
void add_geometry(HashChains& chains, const Seen& seen) {
  const c10::TensorImpl& impl = *seen.tensor->unsafeGetTensorImpl();
  const c10::Device device = impl.device();
  const auto place =
      static_cast<std::uint64_t>(device.type()) << 8u | static_cast<std::uint8_t>(device.index());
  const auto number = static_cast<std::uint64_t>(impl.is_wrapped_number()) << 8u;
  chains.add(place << 16u | number | static_cast<std::uint64_t>(seen.role));
  for (const std::int64_t stride : impl.strides()) chains.add(static_cast<std::uint64_t>(stride));
  chains.add(static_cast<std::uint64_t>(impl.storage_offset()));
  chains.add(seen.storage_bytes);
  chains.add(impl.key_set().raw_repr());
}

void add_environment(HashChains& chains, const Environment& environment) {
  std::uint32_t flags = c10::GradMode::is_enabled() ? 1 : 0;
  flags = flags << 1u | (ignores_lazy_bits() ? 1u : 0u);
  flags = flags << 8u | static_cast<std::uint8_t>(environment.precision);
  flags = flags << 8u | static_cast<std::uint8_t>(environment.default_type);
  chains.add(static_cast<std::uint32_t>(environment.threads), flags);
  chains.add(environment.float_mode.caller, environment.float_mode.pool);
  for (const std::uint64_t word : environment.switches) chains.add(word);
}

}  // namespace

CallHash::CallHash(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments) : chains_(op.name_hash) {
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    if (const at::Tensor* const tensor = tensor_in(arguments[at])) {
      add_shape(chains_, at, 0, *tensor);
    } else if (arguments[at].isList()) {  // whose type is not asked: that takes longer than to go through it
      const c10::ArrayRef<c10::IValue> elements = arguments[at].toListRef();
      for (std::size_t i = 0; i < elements.size(); ++i) {
        if (const at::Tensor* const listed = tensor_in(elements[i])) add_shape(chains_, at, i, *listed);
      }
    }
  }
}

Fingerprint CallHash::fingerprint(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments,
                                  c10::ArrayRef<Seen> tensors, const Environment& environment) const {
  HashChains chains = chains_;
  chains.add(reinterpret_cast<std::uintptr_t>(&op));
  add_environment(chains, environment);
  for (const c10::IValue& argument : arguments) add_plain(chains, argument);
  for (const Seen& seen : tensors) add_geometry(chains, seen);
  return chains.value();
}

}  // namespace stowage::recompute
