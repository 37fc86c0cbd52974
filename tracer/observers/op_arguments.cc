#include "tracer/observers/op_arguments.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

namespace stowage::tracer {
namespace {

std::uint32_t version_of(const c10::TensorImpl& tensor) {
  const c10::VariableVersion& counter = tensor.version_counter();
  return counter.enabled() ? counter.current_version() : 0;
}

// Calls visit(TensorImpl&) for each defined tensor in `value`: a tensor, or a list of (optional) tensors.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    c10::TensorImpl* tensor = value.unsafeToTensorImpl();
    if (tensor != c10::UndefinedTensorImpl::singleton()) visit(*tensor);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, visit);
  }
}

void consider_device(c10::Device device, Arguments& arguments) {
  if (arguments.device.is_cpu() && !device.is_cpu()) arguments.device = device;
}

// An op that names "cuda" means the current device, and so does one without an index.
bool same_device(c10::Device one, c10::Device other) {
  return one.type() == other.type() &&
         (!one.has_index() || !other.has_index() || one.index() == other.index());
}

}  // namespace

void append_use(const c10::TensorImpl& tensor, c10::Device device, Uses& uses) {
  // A number that Python passed is wrapped as a tensor for one call: it is no value.
  if (!tensor.has_storage() || tensor.is_wrapped_number() || !same_device(tensor.device(), device)) return;
  const c10::StorageImpl* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr || storage->data_ptr().get() == nullptr) return;
  uses.push_back({storage->data_ptr().get(), version_of(tensor), Bytes(storage->nbytes())});
}

void append_uses(const c10::IValue& value, c10::Device device, Uses& uses) {
  for_each_tensor(value, [&](const c10::TensorImpl& tensor) { append_use(tensor, device, uses); });
}

void read_arguments(c10::ArrayRef<c10::IValue> values, std::uint64_t written_mask, Arguments& arguments) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool written = i < 64 && (written_mask >> i & 1) != 0;
    if (values[i].isDevice()) consider_device(values[i].toDevice(), arguments);
    for_each_tensor(values[i], [&](c10::TensorImpl& tensor) {
      consider_device(tensor.device(), arguments);
      if (!written) return;
      arguments.written.push_back(c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>(
          c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::unsafe_reclaim_from_nonowning(
              &tensor)));
    });
  }
  for (const c10::IValue& value : values) append_uses(value, arguments.device, arguments.uses);
}

}  // namespace stowage::tracer
