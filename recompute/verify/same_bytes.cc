#include "recompute/verify/same_bytes.h"

#include <ATen/Functions.h>
#include <ATen/Tensor.h>

#include <cstring>
#include <iomanip>
#include <sstream>

#include "recompute/recipe/replay.h"
#include "recompute/stores/digest.h"

namespace stowage::recompute {
namespace {

at::Tensor bytes_of(const c10::Storage& storage) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage),
      c10::DispatchKeySet(storage.device().is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA),
      caffe2::TypeMeta::Make<std::uint8_t>());
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({static_cast<std::int64_t>(storage.nbytes())});
  return tensor;
}

// The same view of another storage; its elements in row-major order, on the host.
at::Tensor elements_of(const at::Tensor& view, const c10::Storage& storage) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), view.key_set(), view.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(view.sizes(), view.strides(), view.storage_offset());
  return tensor.contiguous().cpu();
}

std::string value_text(const at::Tensor& elements, std::int64_t at) {
  const auto size = static_cast<std::size_t>(elements.element_size());
  const auto* const bytes =
      static_cast<const unsigned char*>(elements.const_data_ptr()) + static_cast<std::size_t>(at) * size;
  std::ostringstream text;
  if (at::isFloatingType(elements.scalar_type()))
    text << std::setprecision(17) << elements.reshape(-1)[at].item<double>() << ' ';
  text << "(0x" << std::hex << std::setfill('0');
  for (std::size_t i = size; i-- > 0;) text << std::setw(2) << static_cast<unsigned>(bytes[i]);
  text << ')';
  return text.str();
}

std::optional<Difference> compare(const at::Tensor& actual, const c10::Storage& made) {
  if (at::equal(bytes_of(actual.storage()), bytes_of(made))) return std::nullopt;
  const at::Tensor was = elements_of(actual, actual.storage()), is = elements_of(actual, made);
  const auto size = static_cast<std::size_t>(was.element_size());
  const auto* const a = static_cast<const char*>(was.const_data_ptr());
  const auto* const b = static_cast<const char*>(is.const_data_ptr());
  Difference found{was.numel(), 0, 0, "", ""};
  for (std::int64_t i = 0; i < found.elements; ++i) {
    const std::size_t begin = static_cast<std::size_t>(i) * size;
    if (std::memcmp(a + begin, b + begin, size) == 0) continue;
    if (found.different++ == 0) found.first = i;
  }
  if (found.different == 0) return std::nullopt;
  found.was = value_text(was, found.first);
  found.is = value_text(is, found.first);
  return found;
}

}  // namespace

std::optional<Difference> difference(const at::Tensor& actual, const c10::Storage& made) {
  std::optional<Difference> found;
  run_on_kernels([&] { found = compare(actual, made); });
  return found;
}

std::string Difference::text() const {
  return std::to_string(different) + " of " + std::to_string(elements) + " elements; element " +
         std::to_string(first) + " was " + was + " and is " + is;
}

std::uint64_t digest_of_bytes(const c10::Storage& storage) {
  if (storage.device().is_cpu()) return digest_of(storage.data(), storage.nbytes());
  std::uint64_t digest = 0;
  run_on_kernels([&] { digest = digest_of(bytes_of(storage).cpu().const_data_ptr(), storage.nbytes()); });
  return digest;
}

void fill_with_nan(const c10::Storage& storage) {
  if (storage.device().is_cpu()) std::memset(storage.mutable_data(), 0xFF, storage.nbytes());
}

}  // namespace stowage::recompute
