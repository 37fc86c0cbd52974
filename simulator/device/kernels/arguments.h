// What of a kernel's arguments is known to be a pointer, by the kernel's name.
//
// Why: a launch tells addresses of arguments, not their types; the mangled name does. Known are plain
// pointers, std::array<char*, N> (most of PyTorch's elementwise ops), PyTorch's tensor views (TensorInfo,
// packed accessors), its lists of tensors (tensor_lists.h), and four structures whose members lie where
// PyTorch's headers put them: the function objects of strided elementwise ops and of random ops, reductions,
// and the parameters of flash and memory-efficient attention. Thread safety: pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/device/kernels/tensor_lists.h"

namespace stowage::simulator {

/// Pointers that lie one behind the other in one argument, from `offset` bytes on.
struct PointerRun {
  std::size_t argument = 0;
  std::size_t offset = 0;
  std::size_t pointers = 0;
};

struct KnownArguments {
  std::vector<PointerRun> runs;
  std::vector<std::pair<std::size_t, TensorLists>> lists;  ///< with the argument's index

  bool empty() const { return runs.empty() && lists.empty(); }
};

/// The arguments of the kernel with this mangled name that are known to hold pointers, in order.
KnownArguments known_arguments(const char* mangled_name);

/// The pieces of a list of types, without blanks around them: "int, a<b, c>" has two.
std::vector<std::string_view> split_types(std::string_view list);

/// Where the pointers lie in a structure of this demangled type (`argument` is 0); nothing where it is not
/// known.
std::vector<PointerRun> runs_in_structure(std::string_view type);

}  // namespace stowage::simulator
