#include "recompute/encode/codecs.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace stowage::recompute {
namespace {

constexpr std::int64_t kPlanes = 8;
constexpr std::int64_t k16Bits = 0xFFFF;

// The elements in the order of memory.
at::Tensor in_memory_order(const at::Tensor& tensor) { return tensor.as_strided({tensor.numel()}, {1}, 0); }

at::Tensor empty_like_that(const at::Tensor& on, at::IntArrayRef sizes, at::IntArrayRef strides,
                           at::ScalarType dtype) {
  return at::empty_strided(sizes, strides, on.options().dtype(dtype));
}

// Calls `visit` with the number of each plane, and the elements that it has of `all`.
void for_each_plane(const at::Tensor& all, std::int64_t length,
                    const std::function<void(std::int64_t plane, at::Tensor elements)>& visit) {
  for (std::int64_t plane = 0; plane < kPlanes; ++plane) {
    const std::int64_t begin = std::min(plane * length, all.numel());
    const std::int64_t end = std::min(begin + length, all.numel());
    if (begin < end) visit(plane, all.narrow(0, begin, end - begin));
  }
}

// As in PyTorch's kernels: autograd is above them.
using InKernel = at::AutoDispatchBelowADInplaceOrView;

at::Tensor pack_kernel(const at::Tensor& self) {
  const InKernel guard;
  const at::Tensor all = in_memory_order(self);
  const std::int64_t length = (all.numel() + kPlanes - 1) / kPlanes;
  at::Tensor bits = at::zeros({length}, self.options().dtype(at::kByte));
  for_each_plane(all, length, [&](std::int64_t plane, const at::Tensor& elements) {
    bits.narrow(0, 0, elements.numel()).add_(elements.view(at::kByte), 1 << plane);
  });
  return bits;
}

at::Tensor unpack_kernel(const at::Tensor& bits, at::IntArrayRef sizes, at::IntArrayRef strides) {
  const InKernel guard;
  at::Tensor made = empty_like_that(bits, sizes, strides, at::kBool);
  for_each_plane(in_memory_order(made), bits.numel(), [&](std::int64_t plane, at::Tensor elements) {
    at::ne_out(elements, at::bitwise_and(bits.narrow(0, 0, elements.numel()), 1 << plane), 0);
  });
  return made;
}

// A conversion to 16 bits keeps the lower ones, whatever the sign that they make.
at::Tensor narrow_kernel(const at::Tensor& self, bool in_16_bits) {
  const InKernel guard;
  return in_memory_order(self).to(in_16_bits ? at::kShort : at::kInt);
}

at::Tensor widen_kernel(const at::Tensor& narrow, at::IntArrayRef sizes, at::IntArrayRef strides) {
  const InKernel guard;
  at::Tensor made = empty_like_that(narrow, sizes, strides, at::kLong);
  const at::Tensor all = in_memory_order(made);
  all.copy_(narrow);
  if (narrow.scalar_type() == at::kShort) all.bitwise_and_(k16Bits);
  return made;
}

// As the job's own calls are: with all that stands between a call and its kernel.
template <class... Arguments>
at::Tensor call(const char* op, Arguments&&... arguments) {
  const c10::AutoGradMode records(false);
  torch::jit::Stack stack;
  (stack.emplace_back(std::forward<Arguments>(arguments)), ...);
  c10::Dispatcher::singleton().findSchemaOrThrow(op, "").callBoxed(&stack);
  return std::move(stack.front()).toTensor();
}

}  // namespace

void register_codecs() {
  auto* const library = new torch::Library(torch::Library::FRAGMENT, "stowage", {}, __FILE__, __LINE__);
  const auto define = [&](const char* name, const char* rest, auto kernel) {
    library->def((std::string(name) + rest).c_str());
    library->impl(name, torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, kernel));
  };
  define("pack_bits", "(Tensor self) -> Tensor", &pack_kernel);
  define("unpack_bits", "(Tensor bits, int[] sizes, int[] strides) -> Tensor", &unpack_kernel);
  define("narrow_indices", "(Tensor self, bool in_16_bits) -> Tensor", &narrow_kernel);
  define("widen_indices", "(Tensor narrow, int[] sizes, int[] strides) -> Tensor", &widen_kernel);
}

at::Tensor pack_bits(const at::Tensor& tensor) { return call("stowage::pack_bits", tensor); }

at::Tensor unpack_bits(const at::Tensor& bits, const at::Tensor& like) {
  return call("stowage::unpack_bits", bits, like.sizes().vec(), like.strides().vec());
}

at::Tensor narrow_indices(const at::Tensor& indices, std::int64_t largest) {
  return call("stowage::narrow_indices", indices, largest <= k16Bits);
}

at::Tensor widen_indices(const at::Tensor& narrow, const at::Tensor& like) {
  return call("stowage::widen_indices", narrow, like.sizes().vec(), like.strides().vec());
}

}  // namespace stowage::recompute
