// Pointers that work on the device is given: they must point to memory that is there.
//
// Why: kernels do nothing here, so a kernel that would read freed, unmapped or evicted memory must be caught
// by what it is told. Checked are the tensors of matrix products, convolutions, batch normalization and
// recurrent passes, and what is known of a kernel's arguments (arguments.h). What hides inside other
// structures is not seen; launches of which nothing is seen are counted. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "simulator/device/machine.h"

namespace stowage::simulator {

/// CUDA_SUCCESS where a kernel may be given `pointer`: it is null, or points to live device memory, to its
/// end, or to memory of the host that the device reaches. Otherwise a misuse that names `user`. Null is where
/// a tensor of no elements lies, for any offset.
CUresult check_pointer(const void* pointer, const char* user);
/// The same for all that one launch of a library is given.
CUresult check_pointers(std::initializer_list<const void*> pointers, const char* user);
/// The same for what is known of the arguments of a kernel of `blocks` blocks. `host_function` is what it is
/// launched by.
CUresult check_arguments(const void* host_function, void** arguments, std::uint64_t blocks);

/// Counts a launch by `user` of which nothing is known.
void note_unseen(const char* user);
/// A line on stderr for every kernel and routine that was launched without a look at what it was given.
void print_unseen();
void reset_pointer_counts();

}  // namespace stowage::simulator
