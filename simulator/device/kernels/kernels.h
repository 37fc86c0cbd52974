// The kernels and device variables that a job's libraries register when they are loaded.
//
// Why: launches by function pointer need a name in profiles, and device variables (cudaGetSymbolAddress) need
// storage. Thread safety: any thread. PyTorch registers about 10^5 kernels, so registration only appends.
#pragma once

#include <cstdint>

namespace stowage::simulator {

/// Remembers that `host_function` stands for the kernel called `mangled_name` (kept by pointer, it is static
/// text).
void register_kernel(const void* host_function, const char* mangled_name);
/// The kernel's mangled name; "" when it was never registered.
const char* kernel_name(const void* host_function);

void register_variable(const void* host_variable, std::uint64_t bytes);
/// Zeroed storage for the variable, made at the first call. Null for an unknown one.
void* variable_storage(const void* host_variable, std::uint64_t* bytes);

/// True if the address lies in the storage of a variable.
bool is_variable(std::uintptr_t address);

}  // namespace stowage::simulator
