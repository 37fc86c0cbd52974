// Memory that is a file's, mapped for this process alone: what torch.load(mmap=True), safetensors and
// UntypedStorage.from_file give. No allocator of PyTorch's owns it, but no other process sees writes.
//
// Thread safety: pure functions, but for the system's list of mappings that they read.
#pragma once

namespace stowage::recompute {

/// True if the page of `address` belongs to a file and what is written there stays in this process. Reads the
/// system's list of mappings: for rare use. False where that cannot be read.
bool is_in_private_file(const void* address);

}  // namespace stowage::recompute
