#include "simulator/device/kernels/tensor_lists.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "simulator/device/kernels/torch_lists.h"

namespace stowage::simulator {
namespace {

constexpr std::size_t kDeepest = 5;
using Depths = std::array<TensorLists, kDeepest>;  // [n - 1]: of n lists

template <typename List>
constexpr TensorLists layout_of(std::size_t steps = 0) {
  using Addresses = decltype(List::addresses);
  using Blocks = decltype(List::block_to_tensor);
  return {std::extent_v<Addresses, 0>,     std::extent_v<Addresses, 1>,         std::extent_v<Blocks>, steps,
          offsetof(List, block_to_tensor), sizeof(std::remove_extent_t<Blocks>)};
}

template <int Lists>
constexpr TensorLists fused_layout() {
  using List = torch_lists::FusedOptimizerTensorListMetadata<Lists>;
  return layout_of<List>(offsetof(List, state_steps_addresses));
}

template <typename Scalar, int Lists>
constexpr TensorLists layout_with_scalars() {
  return layout_of<torch_lists::TensorListScalarListMetadata<Scalar, Lists>>();
}

template <typename Scalar>
constexpr Depths with_scalars() {
  return {layout_with_scalars<Scalar, 1>(), layout_with_scalars<Scalar, 2>(),
          layout_with_scalars<Scalar, 3>(), layout_with_scalars<Scalar, 4>(),
          layout_with_scalars<Scalar, 5>()};
}

constexpr Depths kPlain{
    layout_of<torch_lists::TensorListMetadata<1>>(), layout_of<torch_lists::TensorListMetadata<2>>(),
    layout_of<torch_lists::TensorListMetadata<3>>(), layout_of<torch_lists::TensorListMetadata<4>>(),
    layout_of<torch_lists::TensorListMetadata<5>>()};
constexpr Depths kFused{fused_layout<1>(), fused_layout<2>(), fused_layout<3>(), fused_layout<4>(),
                        fused_layout<5>()};

// Null for a type of scalars that no optimizer uses.
const Depths* of_scalars(std::string_view scalar) {
  static constexpr Depths kFour = with_scalars<float>();
  static constexpr Depths kEight = with_scalars<double>();
  static constexpr Depths kSixteen = with_scalars<torch_lists::ComplexDouble>();
  if (scalar == "float" || scalar == "int") return &kFour;
  if (scalar == "double" || scalar == "long" || scalar == "c10::complex<float>") return &kEight;
  return scalar == "c10::complex<double>" ? &kSixteen : nullptr;
}

// What stands between the brackets of `name<…>`, the type's last part; empty where it is another.
std::string_view parameters_of(std::string_view type, std::string_view name) {
  const std::size_t at = type.find(name);
  if (at == std::string_view::npos || type.back() != '>') return {};
  return type.substr(at + name.size(), type.size() - at - name.size() - 1);
}

std::optional<TensorLists> at_depth(const Depths* layouts, std::string_view depth) {
  std::size_t n = 0;
  const auto read = std::from_chars(depth.data(), depth.data() + depth.size(), n);
  if (layouts == nullptr || read.ptr != depth.data() + depth.size() || n < 1 || n > kDeepest) return {};
  return (*layouts)[n - 1];
}

}  // namespace

std::optional<TensorLists> tensor_lists(std::string_view type) {
  if (const auto depth = parameters_of(type, "::FusedOptimizerTensorListMetadata<"); !depth.empty())
    return at_depth(&kFused, depth);
  if (const auto depth = parameters_of(type, "::TensorListMetadata<"); !depth.empty())
    return at_depth(&kPlain, depth);
  const auto both = parameters_of(type, "::TensorListScalarListMetadata<");
  const std::size_t comma = both.rfind(", ");
  if (comma == std::string_view::npos) return {};
  return at_depth(of_scalars(both.substr(0, comma)), both.substr(comma + 2));
}

std::vector<const void*> addresses_in(const TensorLists& layout, const void* argument, std::uint64_t blocks) {
  const auto* const bytes = static_cast<const char*>(argument);
  std::size_t used = 0;
  for (std::uint64_t block = 0; block < std::min<std::uint64_t>(blocks, layout.blocks); ++block) {
    std::uint16_t tensor = 0;
    std::memcpy(&tensor, bytes + layout.block_to_tensor + block * layout.index_bytes, layout.index_bytes);
    used = std::max<std::size_t>(used, tensor + std::size_t{1});
  }
  used = std::min(used, layout.tensors);
  if (used == 0) return {};
  std::vector<const void*> found;
  const auto take = [&](std::size_t offset) {
    found.resize(found.size() + used);
    std::memcpy(found.data() + found.size() - used, bytes + offset, used * sizeof(void*));
  };
  for (std::size_t list = 0; list < layout.lists; ++list) take(list * layout.tensors * sizeof(void*));
  if (layout.steps != 0) take(layout.steps);
  return found;
}

}  // namespace stowage::simulator
