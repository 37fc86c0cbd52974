// Runs one recipe again.
//
// Below autograd, autocast and every mode, with the grad mode and torch's settings that the op had; these are
// put back, also when the op throws. Random numbers come from a generator of the replay's own (random_ops.h).
// Tensors are put together from storages and the
// recorded geometry, so nothing that happened to the job's tensors since matters.
//
// Thread safety: the caller holds the runtime's lock. Throws what the op throws.
#pragma once

#include <c10/core/Storage.h>

#include <functional>
#include <string>
#include <vector>

#include "recompute/recipe/value.h"

namespace stowage::recompute {

/// Runs `recipe` on `storages`, one for each of recipe.inputs in order (unset where the content was
/// captured). Written ones are written. Returns the storage of each of recipe.outputs. Throws
/// std::runtime_error (through TORCH_CHECK) if the op did not give what it gave before.
std::vector<c10::Storage> replay(const Recipe& recipe, const std::vector<c10::Storage>& storages);

/// Tests: from now on what recipes of this op make again has a wrong bit. "": none.
void spoil_recipes_of(const std::string& op);

/// Runs `work` with nothing between the ops that it calls and their kernels: no autograd, no mode, no
/// interposer.
void run_on_kernels(const std::function<void()>& work);

/// A storage of `bytes` from the device's allocator; zeros on the CPU.
c10::Storage make_storage(c10::Device device, std::uint64_t bytes);
/// A storage with the same bytes.
c10::Storage copy_storage(const c10::Storage& source);

}  // namespace stowage::recompute
