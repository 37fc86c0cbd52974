#include "recompute/rewrite/split_backward.h"

#include "recompute/ops/argument.h"
#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {
namespace {

// Arguments of aten::convolution_backward: gradient, input and weight first, the mask last. Results and mask
// are of input, weight and bias.
constexpr std::size_t kTensors = 3;
constexpr std::size_t kResults = 3;

}  // namespace

bool SplitBackward::is_worth_it(c10::ArrayRef<c10::IValue> arguments, std::uint64_t limit) {
  if (limit == 0) return false;
  const c10::List<bool> mask = arguments.back().toBoolList();
  if (mask.size() != kResults || !mask.get(0) || !(mask.get(1) || mask.get(2))) return false;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const at::Tensor* const tensor = tensor_in(arguments[i]);
    if (tensor == nullptr || !has_plain_memory(*tensor)) return false;
    bytes += tensor->nbytes();
  }
  return bytes + tensor_in(arguments[1])->nbytes() > limit / 2;
}

torch::jit::Stack SplitBackward::arguments_of(std::size_t call) const {
  const c10::List<bool> whole = arguments_.back().toBoolList();
  const bool last = call == kCalls - 1;
  c10::List<bool> mask;
  for (std::size_t i = 0; i < kResults; ++i) mask.push_back(whole.get(i) && (i == 0) == last);
  torch::jit::Stack stack(arguments_.begin(), arguments_.end());
  stack.back() = std::move(mask);
  return stack;
}

void SplitBackward::add_results(torch::jit::Stack& all, const torch::jit::Stack& more) {
  if (all.empty()) return void(all = more);
  for (std::size_t i = 0; i < kResults; ++i) {
    if (more[i].toTensor().defined()) all[i] = more[i];
  }
}

}  // namespace stowage::recompute
