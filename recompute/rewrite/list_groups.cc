#include "recompute/rewrite/list_groups.h"

#include <algorithm>

#include "recompute/ops/argument.h"
#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kUsualLists = 3;  // of an op in an optimizer's step, at most

c10::IValue part_of(const c10::List<c10::IValue>& list, std::size_t begin, std::size_t end) {
  c10::impl::GenericList part(list.elementType());
  for (std::size_t i = begin; i < end; ++i) part.push_back(list.get(i));
  return part;
}

std::vector<at::Tensor> tensors_in(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& element : value.toListRef()) tensors.push_back(element.toTensor());
  return tensors;
}

}  // namespace

ListGroups::ListGroups(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments, std::uint64_t most)
    : traits_(traits), arguments_(arguments) {
  for (const c10::IValue& argument : arguments) {
    if (!is_list_of_tensors(argument)) continue;
    std::vector<at::Tensor> tensors = tensors_in(argument);
    if (!lists_.empty() && tensors.size() != lists_[0].size()) {
      if (tensors.empty()) continue;
      return;  // not an op as we know them
    }
    lists_.push_back(std::move(tensors));
  }
  if (lists_.empty() || lists_[0].size() < 2 || !all_get_one_sort_of_kernel()) return;
  const std::uint64_t most_of_list = most / std::max(kUsualLists, lists_in_memory());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < lists_[0].size(); ++i) {
    const std::uint64_t more = lists_[0][i].nbytes();
    if (bytes > 0 && bytes + more > most_of_list) {
      ends_.push_back(i);
      bytes = 0;
    }
    bytes += more;
  }
  ends_.push_back(lists_[0].size());
}

// PyTorch's fast kernels want all tensors of one type and device, and the i-th of each list alike and dense.
// On the CPU there are none.
bool ListGroups::all_get_one_sort_of_kernel() const {
  const at::Tensor& first = lists_[0][0];
  for (const std::vector<at::Tensor>& list : lists_) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const at::Tensor& tensor = list[i];
      if (!tensor.defined() || !has_plain_memory(tensor)) return false;
      if (tensor.is_cpu()) continue;
      const at::Tensor& like = lists_[0][i];
      const bool step = tensor.dim() == 0 && like.dim() != 0;  // of a fused optimizer
      const bool alike = step || (tensor.scalar_type() == first.scalar_type() &&
                                  tensor.sizes() == like.sizes() && tensor.strides() == like.strides());
      if (tensor.device() != first.device() || !alike || !tensor.is_non_overlapping_and_dense()) return false;
    }
  }
  return true;
}

// Those that it reads and the one that it makes; not those of scalars.
std::uint64_t ListGroups::lists_in_memory() const {
  std::uint64_t all = 0, first = 0;
  for (const at::Tensor& tensor : lists_[0]) first += tensor.nbytes();
  for (const std::vector<at::Tensor>& list : lists_)
    for (const at::Tensor& tensor : list) all += tensor.nbytes();
  return (all + first - 1) / std::max<std::uint64_t>(first, 1) + (traits_.returns > 0 ? 1 : 0);
}

// It has one entry for each tensor: a list, or a tensor of scalars.
bool ListGroups::goes_along(std::size_t argument) const {
  const c10::IValue& value = arguments_[argument];
  if (value.isList()) return value.toListRef().size() == lists_[0].size();
  const at::Tensor* const tensor = tensor_in(value);
  return tensor != nullptr && argument_name(traits_, argument) == "scalars";
}

torch::jit::Stack ListGroups::arguments_of(std::size_t part) const {
  const std::size_t begin = part == 0 ? 0 : ends_[part - 1];
  torch::jit::Stack stack;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const c10::IValue& value = arguments_[i];
    if (!goes_along(i)) {
      stack.push_back(value);
    } else if (value.isList()) {
      stack.push_back(part_of(value.toList(), begin, ends_[part]));
    } else {
      const auto length = static_cast<std::int64_t>(ends_[part] - begin);
      stack.push_back(value.toTensor().narrow(0, static_cast<std::int64_t>(begin), length));
    }
  }
  return stack;
}

void ListGroups::add_results(torch::jit::Stack& all, const torch::jit::Stack& more) {
  if (all.empty()) return void(all = more);
  for (std::size_t i = 0; i < all.size(); ++i) {
    c10::impl::GenericList list = all[i].toList();
    for (const c10::IValue& one : more[i].toListRef()) list.push_back(one);
  }
}

}  // namespace stowage::recompute
