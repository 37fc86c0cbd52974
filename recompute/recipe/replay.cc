#include "recompute/recipe/replay.h"

#include <ATen/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "recompute/ops/op_traits.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/settings/environment.h"

namespace stowage::recompute {
namespace {

at::Tensor tensor_of(const Geometry& seen, const Input& input, const c10::Storage& given) {
  c10::Storage storage = given;
  if (input.captured) {
    storage = make_storage(seen.device, seen.storage_bytes);
    std::memcpy(storage.mutable_data(), input.captured->data(), seen.storage_bytes);
  }
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), seen.keys, seen.dtype);
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(seen.view.sizes_arrayref(), seen.view.strides_arrayref(), seen.offset);
  if (seen.wrapped_number) impl.set_wrapped_number(true);
  return tensor;
}

// Puts the arguments on the stack in order; tensors are taken from `tensors` one after the other.
void push_arguments(const Signature& signature, const std::vector<at::Tensor>& tensors,
                    std::vector<c10::IValue>& stack) {
  std::size_t next = 0;
  for (const Argument& argument : signature.arguments) {
    switch (argument.kind) {
      case ArgumentKind::kPlain:
        stack.push_back(argument.plain);
        break;
      case ArgumentKind::kTensor:
        stack.emplace_back(tensors[next++]);
        break;
      case ArgumentKind::kTensorList: {
        c10::List<at::Tensor> list;
        for (const bool present : argument.present) list.push_back(present ? tensors[next++] : at::Tensor());
        stack.emplace_back(std::move(list));
        break;
      }
      case ArgumentKind::kOptionalTensorList: {
        c10::List<std::optional<at::Tensor>> list;
        for (const bool present : argument.present)
          list.push_back(present ? std::optional<at::Tensor>(tensors[next++]) : std::nullopt);
        stack.emplace_back(std::move(list));
        break;
      }
    }
  }
}

at::Tensor result_at(const std::vector<c10::IValue>& results, const Output& output) {
  const c10::IValue& result = results.at(output.index);
  if (output.element < 0) return result.toTensor();
  return result.toTensorList().get(static_cast<std::size_t>(output.element));
}

bool is_among(const c10::Storage& storage, const std::vector<c10::Storage>& storages) {
  return std::any_of(storages.begin(), storages.end(), [&](const c10::Storage& one) {
    return one.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl();
  });
}

// Nothing between the op and its kernel: no autograd, no autocast, no mode, no interposer.
c10::DispatchKeySet all_above_kernels() {
  return c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::default_excluded_set;
}

std::string& spoiled_op() {
  static auto* const name = new std::string;
  return *name;
}

// The lowest bit of the first byte.
void spoil(const c10::Storage& made) {
  if (made.device().is_cpu() && made.nbytes() > 0) *static_cast<unsigned char*>(made.mutable_data()) ^= 1u;
}

}  // namespace

void spoil_recipes_of(const std::string& op) { spoiled_op() = op; }

void run_on_kernels(const std::function<void()>& work) {
  const c10::impl::ForceDispatchKeyGuard keys(c10::DispatchKeySet(c10::DispatchKey::BackendSelect),
                                              all_above_kernels());
  work();
}

c10::Storage make_storage(c10::Device device, std::uint64_t bytes) {
  c10::Storage made(c10::Storage::use_byte_size_t(), bytes, c10::GetAllocator(device.type()), true);
  if (device.is_cpu() && bytes > 0) std::memset(made.mutable_data(), 0, bytes);
  return made;
}

c10::Storage copy_storage(const c10::Storage& source) {
  c10::Allocator* const allocator = c10::GetAllocator(source.device_type());
  c10::Storage made(c10::Storage::use_byte_size_t(), source.nbytes(), allocator, true);
  allocator->copy_data(made.mutable_data(), source.data(), source.nbytes());
  return made;
}

std::vector<c10::Storage> replay(const Recipe& recipe, const std::vector<c10::Storage>& storages) {
  const Signature& signature = *recipe.signature;
  const c10::impl::ForceDispatchKeyGuard keys(
      c10::DispatchKeySet(c10::DispatchKey::BackendSelect),
      all_above_kernels() | (signature.ignores_lazy_bits ? kLazyKeys : c10::DispatchKeySet()));
  const c10::AutoGradMode grad_mode(signature.grad_mode);
  const UnderEnvironment environment(signature.environment, signature.obeyed());
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < signature.tensors.size(); ++i)
    tensors.push_back(tensor_of(signature.tensors[i], recipe.inputs[i], storages[i]));
  const c10::OptionalDeviceGuard device(signature.tensors.empty() ? std::optional<c10::Device>()
                                                                  : signature.tensors[0].device);
  std::vector<c10::IValue> stack;
  push_arguments(signature, tensors, stack);
  if (recipe.random) {
    call_with(recipe.random->make_generator(), signature.op->drawing, *signature.op->handle, stack);
  } else {
    signature.op->handle->callBoxed(&stack);
  }

  std::vector<c10::Storage> made;
  for (const Output& output : recipe.outputs) {
    made.push_back(output.written ? tensors[output.index].storage() : result_at(stack, output).storage());
    TORCH_CHECK(made.back().nbytes() == output.storage_bytes, "stowage: ", signature.op->name, " made ",
                made.back().nbytes(), " bytes where it had made ", output.storage_bytes,
                "; please report this, and run the job without a budget");
    TORCH_CHECK(
        output.written || !is_among(made.back(), storages), "stowage: ", signature.op->name,
        " returned a view where it had made a tensor; please report this, and run the job without a budget");
  }
  if (signature.op->name == spoiled_op()) spoil(made.front());
  return made;
}

}  // namespace stowage::recompute
