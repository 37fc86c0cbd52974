#include "recompute/ops/unread.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>

#include "recompute/ops/argument.h"
#include "recompute/ops/op_lists.h"
#include "recompute/ops/op_traits.h"
#include "recompute/ops/schema_names.h"
#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {
namespace {

// Of these `self` gives a size, or decides the layout of the result; as it does of factories (empty_like, …).
constexpr std::array kReadsNoSelf = {
    Name("max_pool2d_with_indices_backward"),
    Name("max_pool3d_with_indices_backward"),
    Name("adaptive_max_pool2d_backward"),
    Name("adaptive_max_pool3d_backward"),
    Name("fractional_max_pool2d_backward"),
    Name("fractional_max_pool3d_backward"),
    Name("avg_pool2d_backward"),
    Name("avg_pool3d_backward"),
    Name("_adaptive_avg_pool2d_backward"),
    Name("_adaptive_avg_pool3d_backward"),
    Name("reflection_pad1d_backward"),
    Name("reflection_pad2d_backward"),
    Name("reflection_pad3d_backward"),
    Name("replication_pad1d_backward"),
    Name("replication_pad2d_backward"),
    Name("replication_pad3d_backward"),
    Name("nll_loss_backward"),
    Name("nll_loss2d_backward"),
    Name("rand_like"),
    Name("randn_like"),
    Name("randint_like"),
};

// Arguments of aten::convolution_backward.
constexpr std::size_t kInput = 1;
constexpr std::size_t kWeight = 2;

// Kernels copy, and so read, what has not the layout that they want.
bool is_laid_out(const at::TensorBase& tensor) {
  return is_dense(tensor) && !tensor.is_neg() && !tensor.is_conj() &&
         tensor.is_contiguous(tensor.suggest_memory_format());
}

// The gradient of the input takes the weight, that of the weight the input; both choose a layout by both.
bool convolution_reads(c10::ArrayRef<c10::IValue> arguments, std::size_t at) {
  const c10::List<bool> wanted = arguments.back().toBoolList();
  const std::size_t other = at == kInput ? 1 : 0;  // of the mask
  if ((at != kInput && at != kWeight) || wanted.size() < 2 || wanted.get(other)) return true;
  const at::Tensor* const input = tensor_in(arguments[kInput]);
  const at::Tensor* const weight = tensor_in(arguments[kWeight]);
  return input == nullptr || weight == nullptr || !is_laid_out(*input) || !is_laid_out(*weight) ||
         input->suggest_memory_format() != weight->suggest_memory_format();
}

}  // namespace

std::uint64_t never_read(Name name, const c10::FunctionSchema& schema) {
  if (!is_factory(name) && !among(kReadsNoSelf, name)) return 0;
  const std::optional<std::size_t> self = position_of(schema, "self");
  return self ? std::uint64_t{1} << *self : 0;
}

bool is_unread(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments, std::size_t at) {
  if (op.convolution_backward) return !convolution_reads(arguments, at);
  return (op.unread >> at & 1) != 0 && is_laid_out(arguments[at].toTensor());
}

}  // namespace stowage::recompute
