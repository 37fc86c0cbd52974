// Structures of PyTorch's kernels whose members lie where its headers put them (CUDALoops.cuh, Reduce.cuh,
// DistributionTemplates.h, OffsetCalculator.cuh; the same in torch 2.11 and 2.15), and attention's
// parameters, which begin with query, key and value.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "simulator/device/kernels/arguments.h"

namespace stowage::simulator {
namespace {

constexpr std::size_t kPointer = sizeof(void*);

constexpr std::size_t rounded(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// OffsetCalculator<tensors, unsigned>: the number of dimensions, a divider of 12 bytes for each of 25, their
// strides.
constexpr std::size_t offset_calculator(std::size_t tensors) { return 4 + 25 * (12 + 4 * tensors); }

// What stands in the brackets that follow the first `name`, which ends with "<"; empty where there is none.
std::string_view inside(std::string_view type, std::string_view name) {
  const std::size_t at = type.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = type.substr(at + name.size());
  int depth = 1;
  for (std::size_t end = 0; end < rest.size(); ++end) {
    if (std::string_view("(<[{").find(rest[end]) != std::string_view::npos) ++depth;
    if (std::string_view(")>]}").find(rest[end]) != std::string_view::npos && --depth == 0)
      return rest.substr(0, end);
  }
  return {};
}

// What a lambda takes; nothing where `function` is no lambda.
std::optional<std::vector<std::string_view>> taken_by_lambda(std::string_view function) {
  constexpr std::string_view kLambda = "{lambda(";
  const std::size_t at = function.rfind(kLambda);
  if (at == std::string_view::npos || !function.ends_with('}')) return {};
  const std::string_view from = function.substr(at + kLambda.size());
  const std::string_view types = from.substr(0, from.find(")#"));
  return types.empty() ? std::vector<std::string_view>{} : split_types(types);
}

// How many tensors a function of one element reads.
std::optional<std::size_t> tensors_read_by(std::string_view function) {
  if (const auto types = taken_by_lambda(function)) return types->size();
  struct Named {
    std::string_view begin;
    std::size_t reads;
  };
  constexpr std::array kNamed{
      Named{"at::native::FillFunctor<", 0},           Named{"at::native::AUnaryFunctor<", 1},
      Named{"at::native::BUnaryFunctor<", 1},         Named{"at::native::AbsFunctor<", 1},
      Named{"at::native::CUDAFunctorOnSelf_add<", 1}, Named{"at::native::CUDAFunctorOnOther_add<", 1},
      Named{"at::native::BinaryFunctor<", 2},         Named{"at::native::CUDAFunctor_add<", 2},
  };
  for (const Named& known : kNamed)
    if (function.starts_with(known.begin)) return known.reads;
  return {};
}

// [offset_calc, data, f](int) of gpu_kernel_impl_nocast.
std::vector<PointerRun> strided_elementwise(std::string_view type) {
  const auto read = tensors_read_by(inside(type, "gpu_kernel_impl_nocast<"));
  if (!read) return {};
  const std::size_t tensors = *read + 1;
  return {{0, rounded(offset_calculator(tensors), kPointer), tensors}};
}

// [out_data, stride0, f](int, random) and [offset_calc, out_data, f](int, random) of
// distribution_nullary_kernel.
std::vector<PointerRun> random_elementwise(std::string_view type) {
  if (type.ends_with(")#1}")) return {{0, 0, 1}};
  if (type.ends_with(")#2}")) return {{0, rounded(offset_calculator(1), kPointer), 1}};
  return {};
}

std::size_t bytes_of_scalar(std::string_view type) {
  if (type == "float" || type == "int") return 4;
  if (type == "double" || type == "long") return 8;
  if (type == "c10::BFloat16" || type == "c10::Half") return 2;
  return type == "bool" || type == "unsigned char" || type == "signed char" ? 1 : 0;
}

struct Reducer {
  std::size_t bytes = 0;   ///< of the function object
  std::size_t result = 0;  ///< of what it makes (a largest element and its index: 16); 0: not known
};

Reducer reducer(std::string_view operation) {
  const auto types = split_types(inside(operation, "<"));
  if (operation.starts_with("at::native::func_wrapper_t<") && types.size() == 2) {
    const auto taken = taken_by_lambda(types[1]);
    return {1, taken && !taken->empty() ? bytes_of_scalar(taken->front()) : 0};
  }
  if (operation.starts_with("at::native::MeanOps<") && types.size() == 4)
    return {bytes_of_scalar(types[2]), bytes_of_scalar(types[1])};
  if (operation.starts_with("at::native::NormTwoOps<") && types.size() == 4)
    return {1, bytes_of_scalar(types[1])};
  if (operation.starts_with("at::native::WelfordOps<") && types.size() == 4 && types[1] == "float" &&
      types[2] == "int")
    return {8, 16};
  for (const std::string_view extreme : {"MaxOps<", "MinOps<", "ArgMaxOps<", "ArgMinOps<"})
    if (operation.starts_with(std::string("at::native::").append(extreme))) return {1, 16};
  return {};
}

// ReduceOp: {ops, ident, config of 64 bytes, two offset calculators, src, dst[2], acc_buf, cta_buf,
// semaphores}. The second dst is written only where there is one.
std::vector<PointerRun> reduction(std::string_view type) {
  const auto types = split_types(inside(type, "ReduceOp<"));
  if (types.size() < 3 || types[2] != "unsigned int") return {};
  const Reducer known = reducer(types[1]);
  if (known.bytes == 0 || known.result == 0) return {};
  const std::size_t ident = rounded(known.bytes, std::min<std::size_t>(known.result, 8));
  const std::size_t config = rounded(ident + known.result, 4);
  const std::size_t source = rounded(config + 64 + offset_calculator(1) + offset_calculator(2), kPointer);
  return {{0, source, 2}, {0, source + 3 * kPointer, 3}};
}

struct Structure {
  std::string_view begin;
  std::string_view end;
  std::vector<PointerRun> (*runs)(std::string_view type);
};

// Query, key and value.
std::vector<PointerRun> three_pointers(std::string_view) { return {{0, 0, 3}}; }

}  // namespace

std::vector<PointerRun> runs_in_structure(std::string_view type) {
  constexpr std::array kStructures{
      Structure{"at::native::gpu_kernel_impl_nocast<", ")::{lambda(int)#1}", &strided_elementwise},
      Structure{"at::native::ReduceOp<", ">", &reduction},
      Structure{"pytorch_flash::Flash_", "_params", &three_pointers},
      Structure{"PyTorchMemEffAttention::Attention", ">::Params", &three_pointers},
  };
  for (const Structure& known : kStructures)
    if (type.starts_with(known.begin) && type.ends_with(known.end)) return known.runs(type);
  if (type.find("distribution_nullary_kernel<") != std::string_view::npos) return random_elementwise(type);
  return {};
}

}  // namespace stowage::simulator
