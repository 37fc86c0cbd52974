#include "recompute/ops/op_traits.h"
#include "recompute/ops/copied_self.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "core/support/fork.h"
#include "core/support/mix.h"
#include "recompute/ops/schema_names.h"
#include "recompute/ops/unread.h"

namespace stowage::recompute {
namespace {

bool has_own_kernel(const c10::OperatorHandle& op) {
  for (const c10::DispatchKey key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA,
                                     c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA}) {
    if (op.hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

bool returns_alias(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return true;
  }
  return false;
}

void read_arguments(const c10::FunctionSchema& schema, OpTraits& traits) {
  traits.arguments = static_cast<std::uint32_t>(schema.arguments().size());
  traits.returns = static_cast<std::uint32_t>(schema.returns().size());
  for (const c10::Argument& argument : schema.arguments()) {
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    traits.written.push_back(written);
    traits.out.push_back(written && argument.is_out());
    traits.mutates = traits.mutates || written;
  }
}

// Foreach and fused optimizers, and the check for gradients that are not finite.
bool is_tensorwise(std::string_view name, const c10::FunctionSchema& schema) {
  constexpr std::string_view kPrefixes[] = {"_foreach_", "_fused_", "_amp_foreach_"};
  const bool named = std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
  if (!named) return false;
  const auto is_list = [](const c10::Argument& one) {
    return one.type()->isSubtypeOf(*c10::ListType::ofTensors());
  };
  const auto& results = schema.returns();
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), is_list) &&
         std::all_of(results.begin(), results.end(), is_list);
}

// The overload of a backward pass that writes where it is told.
const c10::OperatorHandle* over_gradient_of(const c10::FunctionSchema& schema) {
  const std::string overload(overload_over_gradient(plain_name(schema)));
  if (overload.empty()) return nullptr;
  const auto found = c10::Dispatcher::singleton().findSchema({schema.name(), overload});
  const bool adds_one = found && found->schema().arguments().size() == schema.arguments().size() + 1;
  return adds_one ? new c10::OperatorHandle(*found) : nullptr;  // lives for ever, as the traits do
}

void read_lists(std::string_view name, const c10::FunctionSchema& schema, OpTraits& traits) {
  traits.tensorwise = is_tensorwise(name, schema);
  traits.convolution_backward =
      traits.trusted && name == "convolution_backward" && schema.overload_name().empty();
  if (traits.trusted && schema.overload_name().empty()) {
    traits.over_gradient = over_gradient_of(schema);
    traits.encodable = encodable_of(name);
    traits.encoded_argument = encoded_argument_of(name);
    traits.served_backward = is_served_backward(name);
    traits.pooling_backward = is_pooling_backward(name);
    traits.masks_gradient = name == "threshold_backward";
  }
  traits.rewritable = traits.tensorwise || traits.convolution_backward || traits.over_gradient != nullptr ||
                      traits.encodable != Encodable::kNothing || traits.encoded_argument >= 0;
  traits.copies_self = traits.trusted && copies_self(schema);
  traits.factory = is_factory(name);
  traits.overwrites = overwrites_self(name);
  traits.resizes = resizes(name);
  traits.unrepeatable = never_repeats(name);
  traits.unrepeatable_kernel = repeats_only_if_deterministic(name);
  traits.routes = routes_data(name);
  traits.unread = traits.trusted ? never_read(name, schema) : 0;
  traits.products = products_of(name);
  const auto statistics = undeclared_statistics(name);
  if (!statistics) return;
  // Overloads without statistics have a flag in their place.
  const auto first = static_cast<std::size_t>(statistics->first);
  if (schema.arguments().size() <= first + 1 || schema.arguments()[first].name() != "running_mean") return;
  traits.statistics = statistics->first;
  traits.training = statistics->training;
}

// FNV-1a, mixed.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return mix(hash);
}

std::unique_ptr<OpTraits> find_out(const c10::OperatorHandle& op) {
  auto traits = std::make_unique<OpTraits>();
  const c10::FunctionSchema& schema = op.schema();
  traits->handle = new c10::OperatorHandle(op);  // lives for ever, as the traits do
  traits->name = schema.name() + (schema.overload_name().empty() ? "" : "." + schema.overload_name());
  traits->name_hash = hash_of(traits->name);
  const std::string_view space = std::string_view(schema.name()).substr(0, schema.name().find(':'));
  traits->trusted = space == "aten" || space == "stowage";  // the latter: recompute/encode/codecs.h
  // An optimizer's step ends inside one of the profiler's, which tell callbacks that somebody's code begins
  // or ends: an iteration's end lies between ops.
  const bool tells = std::string_view(schema.name()).substr(0, 10) == "profiler::";
  traits->composite = tells || (traits->trusted && !has_own_kernel(op) &&
                                op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd));
  traits->random = op.hasTag(at::Tag::nondeterministic_seeded);
  if (traits->random) traits->drawing = drawing_of(schema, traits->composite);
  read_arguments(schema, *traits);
  traits->view = !traits->mutates && returns_alias(schema);
  read_lists(plain_name(schema), schema, *traits);
  if (op.hasTag(at::Tag::inplace_view)) traits->view = true;  // changes geometry only
  traits->passes = traits->trusted && (traits->composite ? reads_no_memory(plain_name(schema))
                                                         : traits->view && !traits->resizes);
  if (traits->name.find("nested") != std::string::npos)
    traits->passes = false;  // their sizes are read unseen
  return traits;
}

}  // namespace

const OpTraits& traits_of(const c10::OperatorHandle& op) {
  constexpr std::size_t kSlots = 1024;
  thread_local std::array<const OpTraits*, kSlots> recent{};
  const OpTraits*& slot = recent[mix(std::hash<c10::OperatorHandle>{}(op)) % kSlots];
  if (slot != nullptr && *slot->handle == op) return *slot;

  static std::mutex& mutex = *[] {
    auto* const made = new std::mutex;
    hold_over_forks(*made);
    return made;
  }();
  static auto* const known = new std::unordered_map<c10::OperatorHandle, std::unique_ptr<OpTraits>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<OpTraits>& traits = (*known)[op];
  if (!traits) traits = find_out(op);
  slot = traits.get();
  return *traits;
}

const std::string& argument_name(const OpTraits& op, std::size_t at) {
  return op.handle->schema().arguments().at(at).name();
}

}  // namespace stowage::recompute
