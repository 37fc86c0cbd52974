#include "recompute/recipe/fingerprint.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "core/support/mix.h"
#include "recompute/ops/argument.h"
#include "recompute/recipe/signature.h"
#include "recompute/threads/seen_thread.h"

namespace stowage::recompute {
namespace {

// Two chains of words that mix in different ways: what is the same in one by chance is not in the other.
class Chains {
 public:
  void add(std::uint64_t word) {
    low_ = (std::rotl(low_, 23) ^ word) * kGoldenGamma;
    high_ = (high_ + word) * kOdd;
    high_ ^= high_ >> 32u;
  }
  void add(std::uint64_t high, std::uint32_t low) { add(high << 32u | low); }
  [[nodiscard]] Fingerprint value() const { return {mix(low_), mix(high_)}; }

 private:
  static constexpr std::uint64_t kOdd = 0xd6e8feb86659fd93u;
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

enum class Tag : std::uint8_t {
  kTensor,
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

void add(Chains& chains, Tag tag, std::uint64_t content) {
  chains.add(static_cast<std::uint64_t>(tag));
  chains.add(content);
}

void add_double(Chains& chains, double number) {  // by bits: -0.0 is not 0.0, and NaN is itself
  add(chains, Tag::kDouble, std::bit_cast<std::uint64_t>(number));
}

void add_string(Chains& chains, std::string_view text) {
  add(chains, Tag::kString, text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t length = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), length);
    chains.add(word);
    text.remove_prefix(length);
  }
}

void add_argument(Chains& chains, const c10::IValue& value) {
  if (value.isTensor())
    return chains.add(static_cast<std::uint64_t>(is_defined_tensor(value) ? Tag::kTensor : Tag::kNoTensor));
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
  for (const c10::IValue& element : elements) add_argument(chains, element);
}

void add_tensor(Chains& chains, const Seen& seen) {
  const c10::TensorImpl& impl = *seen.tensor->unsafeGetTensorImpl();
  const c10::Device device = impl.device();
  const auto place =
      static_cast<std::uint64_t>(device.type()) << 8u | static_cast<std::uint8_t>(device.index());
  const auto number = static_cast<std::uint64_t>(impl.is_wrapped_number()) << 8u;
  chains.add(place << 16u | number | static_cast<std::uint64_t>(seen.role),
             static_cast<std::uint32_t>(impl.sizes().size() << 8u) |
                 static_cast<std::uint8_t>(c10::typeMetaToScalarType(impl.dtype())));
  for (const std::int64_t size : impl.sizes()) chains.add(static_cast<std::uint64_t>(size));
  for (const std::int64_t stride : impl.strides()) chains.add(static_cast<std::uint64_t>(stride));
  chains.add(static_cast<std::uint64_t>(impl.storage_offset()));
  chains.add(seen.storage_bytes);
  chains.add(impl.key_set().raw_repr());
}

void add_environment(Chains& chains, const Environment& environment) {
  std::uint32_t flags = c10::GradMode::is_enabled() ? 1 : 0;
  flags = flags << 1u | (ignores_lazy_bits() ? 1u : 0u);
  flags = flags << 8u | static_cast<std::uint8_t>(environment.precision);
  flags = flags << 8u | static_cast<std::uint8_t>(environment.default_type);
  chains.add(static_cast<std::uint32_t>(environment.threads), flags);
  chains.add(environment.float_mode.caller, environment.float_mode.pool);
  for (const std::uint64_t word : environment.switches) chains.add(word);
}

}  // namespace

Fingerprint fingerprint_of(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments,
                           c10::ArrayRef<Seen> tensors, const Environment& environment) {
  Chains chains;
  chains.add(reinterpret_cast<std::uintptr_t>(&op));
  add_environment(chains, environment);
  for (const c10::IValue& argument : arguments) add_argument(chains, argument);
  for (const Seen& seen : tensors) add_tensor(chains, seen);
  return chains.value();
}

}  // namespace stowage::recompute
