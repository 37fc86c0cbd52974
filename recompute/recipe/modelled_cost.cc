#include "recompute/recipe/modelled_cost.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {
namespace {

constexpr double kBytesPerNs = 1'000;         // 1 TB/s
constexpr double kFlopsPerNs = 20'000;        // 20 TFLOP/s
constexpr double kHalfFlopsPerNs = 200'000;   // in 16 bits or fewer, on tensor cores
constexpr double kBackwardOfAttention = 2.5;  // five products where the forward pass has two

double elements_of(const Geometry& tensor) {
  double elements = 1;
  for (const std::int64_t size : tensor.view.sizes_arrayref()) elements *= static_cast<double>(size);
  return elements;
}

double bytes_of(const Geometry& tensor) {
  if (tensor.role == Role::kUnread) return 0;
  const double bytes = elements_of(tensor) * static_cast<double>(tensor.dtype.itemsize());
  const double once = std::min(bytes, static_cast<double>(tensor.storage_bytes));  // an expanded view
  return tensor.role == Role::kWritten ? 2 * once : once;
}

double size_at(const Geometry& tensor, std::size_t from_the_end) {
  const auto sizes = tensor.view.sizes_arrayref();
  return sizes.size() < from_the_end ? 1 : static_cast<double>(sizes[sizes.size() - from_the_end]);
}

// "mm" of "aten::mm.out".
std::string_view plain_name(std::string_view whole) {
  if (const std::size_t colon = whole.rfind(':'); colon != std::string_view::npos)
    whole.remove_prefix(colon + 1);
  return whole.substr(0, whole.find('.'));
}

bool begins_with(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

// The last two that it reads, of which the first is [.., m, k] and the second [.., k, n].
double product_flops(const Signature& signature) {
  const Geometry* left = nullptr;
  const Geometry* right = nullptr;
  for (const Geometry& tensor : signature.tensors) {
    if (tensor.role != Role::kRead) continue;
    left = right;
    right = &tensor;
  }
  return left == nullptr ? 0 : 2 * elements_of(*left) * size_at(*right, 1);
}

// Each element of the output takes one filter's worth.
double convolution_flops(double output_elements, const Geometry& filters) {
  const auto sizes = filters.view.sizes_arrayref();
  if (sizes.empty() || sizes[0] == 0) return 0;
  return 2 * output_elements * elements_of(filters) / static_cast<double>(sizes[0]);
}

// The gradients of input and weight take as much as the forward pass each. The mask, the last argument, says
// which are wanted.
double backward_passes(const Signature& signature) {
  const c10::IValue& mask = signature.arguments.back().plain;
  if (!mask.isBoolList() || mask.toBoolList().size() < 2) return 2;
  return (mask.toBoolList().get(0) ? 1 : 0) + (mask.toBoolList().get(1) ? 1 : 0);
}

double attention_flops(const Geometry& query, const Geometry& key) {
  return 4 * elements_of(query) * size_at(key, 2);
}

double flops_of(const Signature& signature, std::uint64_t made_bytes) {
  const std::string_view name = plain_name(signature.op->name);
  const std::vector<Geometry>& tensors = signature.tensors;
  for (const std::string_view product :
       {"mm", "addmm", "bmm", "baddbmm", "addbmm", "_addmm_activation", "mv", "addmv"})
    if (name == product) return product_flops(signature);
  if (tensors.size() >= 3 && name == "convolution_backward")
    return backward_passes(signature) * convolution_flops(elements_of(tensors[0]), tensors[2]);
  if (tensors.size() >= 2 &&
      (name.find("convolution") != std::string_view::npos || begins_with(name, "conv")))
    return convolution_flops(
        static_cast<double>(made_bytes) / static_cast<double>(tensors[0].dtype.itemsize()), tensors[1]);
  const bool backward = name.find("attention_backward") != std::string_view::npos;
  const std::size_t query = backward ? 1 : 0;  // after the gradient
  if (tensors.size() < query + 2 || name.find("attention") == std::string_view::npos) return 0;
  return (backward ? kBackwardOfAttention : 1) * attention_flops(tensors[query], tensors[query + 1]);
}

// Of what it multiplies.
double flops_per_ns(const Signature& signature) {
  const auto read = std::find_if(signature.tensors.begin(), signature.tensors.end(),
                                 [](const Geometry& tensor) { return tensor.role == Role::kRead; });
  const bool half = read != signature.tensors.end() && read->dtype.itemsize() <= 2;
  return half ? kHalfFlopsPerNs : kFlopsPerNs;
}

}  // namespace

std::uint64_t modelled_cost_ns(const Signature& signature, std::uint64_t made_bytes) {
  auto bytes = static_cast<double>(made_bytes);
  for (const Geometry& tensor : signature.tensors) bytes += bytes_of(tensor);
  return kLaunchNs + static_cast<std::uint64_t>(bytes / kBytesPerNs +
                                                flops_of(signature, made_bytes) / flops_per_ns(signature));
}

}  // namespace stowage::recompute
