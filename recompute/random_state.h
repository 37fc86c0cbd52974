// The state of a random generator before an op, and putting it back for a replay.
//
// CPU: the whole mt19937 engine and its cached normal samples. Accelerators: Philox seed and offset; a replay
// draws from a state of its own, so that the generator's other memories (whether cuDNN's dropout is to be
// seeded anew) stay as they are. Nothing of it may happen while a graph is captured. Thread safety: the
// generator's own mutex is taken for each access; two threads that draw from one generator have no defined
// order anyway.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

#include <memory>
#include <optional>

namespace stowage::recompute {

class RandomState {
 public:
  /// The present state of `generator`, which must be defined.
  explicit RandomState(at::Generator generator);

  /// Sets the generator to this state and, when destroyed, back to what it was.
  class Replay {
   public:
    explicit Replay(const RandomState& wanted);
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

   private:
    at::Generator generator_;
    std::unique_ptr<RandomState> before_;  ///< CPU
    at::Generator state_before_;           ///< accelerator
  };

 private:
  void restore() const;

  mutable at::Generator generator_;  ///< its accessors are not const
  struct Engine {
    at::mt19937 engine;
    std::optional<float> next_float;
    std::optional<double> next_double;
  };
  std::unique_ptr<Engine> cpu_;  ///< null on an accelerator
  std::uint64_t seed_ = 0;       ///< on an accelerator
  std::uint64_t offset_ = 0;     ///< on an accelerator
};

}  // namespace stowage::recompute
