// Pointers that work on the device is given: they must point to memory that is there.
//
// Why: kernels do nothing here, so a kernel that would read freed, unmapped or evicted memory must be caught
// by what it is told. Checked are the matrices of matrix products and convolutions, and of a kernel's
// arguments those whose types are known by the kernel's name: plain pointers, std::array<char*, N> (all of
// PyTorch's elementwise ops), and the first member of PyTorch's tensor views (TensorInfo, packed accessors).
// What hides inside other structures is not seen. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "simulator/machine.h"

namespace stowage::simulator {

/// One argument of a kernel that begins with so many pointers.
struct PointerArgument {
  std::size_t index = 0;
  std::size_t pointers = 0;
};

/// The arguments of the kernel with this mangled name that are known to be, or to begin with, pointers.
std::vector<PointerArgument> pointer_arguments(const char* mangled_name);

/// CUDA_SUCCESS where a kernel may be given `pointer`: it is null, or points to live device memory, to its
/// end, or to memory of the host that the device reaches. Otherwise a misuse that names `user`. Null is where
/// a tensor of no elements lies, whatever the offset.
CUresult check_pointer(const void* pointer, const char* user);
/// The same for several.
CUresult check_pointers(std::initializer_list<const void*> pointers, const char* user);
/// The same for what is known of a kernel's arguments. `host_function` is what it is launched by.
CUresult check_arguments(const void* host_function, void** arguments);

}  // namespace stowage::simulator
