#include "recompute/rewrite/reused_gradient.h"

#include <torch/csrc/autograd/function.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "recompute/away/moved_bytes.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/schema_names.h"
#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {
namespace {

// Autograd's nodes whose backward pass is one call, of an op with OpTraits::over_gradient.
constexpr std::array kNodes = {
    Name("ReluBackward0"),       Name("ThresholdBackward0"),   Name("HardtanhBackward0"),
    Name("GeluBackward0"),       Name("SiluBackward0"),        Name("SigmoidBackward0"),
    Name("TanhBackward0"),       Name("LeakyReluBackward0"),   Name("LeakyReluBackward1"),
    Name("EluBackward0"),        Name("EluBackward1"),         Name("CeluBackward0"),
    Name("CeluBackward1"),       Name("SoftplusBackward0"),    Name("SoftshrinkBackward0"),
    Name("HardshrinkBackward0"), Name("HardsigmoidBackward0"), Name("SoftmaxBackward0"),
    Name("LogSoftmaxBackward0")};

constexpr std::uint32_t kNodeAndCall = 2;  // references: autograd's list of gradients, and the stack

bool is_called_by_its_node() {
  const auto node = torch::autograd::get_current_node();  // of another kind of pointer in each torch
  return node && among(kNodes, node->name());
}

bool is_nobody_elses(const at::Tensor& gradient) {
  if (gradient.use_count() != kNodeAndCall || gradient.storage().use_count() != 1) return false;
  const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
  const StorageRecord* const record = machine().book.find(gradient.storage().unsafeGetStorageImpl());
  return record != nullptr && record->locks == 0 && may_lie_elsewhere(*record);
}

// Then the result has the gradient's layout, too.
bool takes_the_same_memory(const at::Tensor& gradient, const at::Tensor& saved) {
  return shows_plain_memory(gradient) && shows_plain_memory(saved) && shows_all(gradient) &&
         are_alike(gradient, saved) && !gradient.is_alias_of(saved);
}

// A softmax makes a contiguous result, of the type that its input had.
bool results_are_alike(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments,
                       const at::Tensor& gradient) {
  for (std::size_t i = 0; i < traits.arguments; ++i) {
    if (argument_name(traits, i) != "input_dtype") continue;
    return gradient.is_contiguous() && arguments[i].toScalarType() == gradient.scalar_type();
  }
  return true;
}

}  // namespace

bool may_write_over_gradient(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments,
                             std::uint64_t limit) {
  constexpr std::uint64_t kTensors = 3;
  const at::Tensor* const gradient = tensor_in(arguments[0]);
  if (limit == 0 || !machine().reuses_gradients.load(std::memory_order_relaxed)) return false;
  if (gradient == nullptr || !has_plain_memory(*gradient)) return false;
  if (kTensors * gradient->nbytes() <= limit / 8) return false;
  std::size_t others = 0;
  for (std::size_t i = 1; i < traits.arguments; ++i) {
    const at::Tensor* const saved = tensor_in(arguments[i]);
    if (saved == nullptr) continue;
    ++others;
    if (!takes_the_same_memory(*gradient, *saved)) return false;
  }
  return others == 1 && results_are_alike(traits, arguments, *gradient) && is_called_by_its_node() &&
         is_nobody_elses(*gradient);
}

}  // namespace stowage::recompute
