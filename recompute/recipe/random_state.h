// The state that a random generator had before an op, for the op's replay.
//
// A replay draws from a generator of its own in this state; the job's generators are only read, under their
// own mutex. CPU: the whole mt19937 engine and its cached normal samples. Accelerators: Philox seed and
// offset. Nothing of it may happen while a graph is captured. Thread safety: any thread.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <c10/core/StorageImpl.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace stowage::recompute {

class RandomState {
 public:
  /// The present state of `generator`, which must be defined.
  explicit RandomState(at::Generator generator);

  /// A new generator of the same device in this state.
  [[nodiscard]] at::Generator make_generator() const;

 private:
  struct Engine {
    at::mt19937 engine;
    std::optional<float> next_float;
    std::optional<double> next_double;
  };
  std::unique_ptr<Engine> cpu_;   ///< null on an accelerator
  mutable at::Generator source_;  ///< on an accelerator; its accessors are not const
  std::uint64_t seed_ = 0;        ///< on an accelerator
  std::uint64_t offset_ = 0;      ///< on an accelerator
};

/// True for memory that may be a saved state of a CPU generator (torch.get_rng_state()):
/// Generator.set_state() reads it past the dispatcher, and PyTorch lets nobody put a guard before that. The
/// first call allocates.
bool may_be_generator_state(const c10::StorageImpl& storage);

}  // namespace stowage::recompute
