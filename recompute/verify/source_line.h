// Where in the job's Python code an op was called.
//
// The innermost frame that lies outside of PyTorch's and Stowage's own packages; of an op of a backward pass
// that is the line that called backward(), and the node of the graph is named with it.
//
// Thread safety: a value. here() and text() take Python's lock: never call them with the runtime's lock held.
#pragma once

#include <memory>
#include <string>

namespace torch {
struct CapturedTraceback;
}

namespace stowage::recompute {

class SourceLine {
 public:
  /// Nowhere.
  SourceLine() = default;
  /// Of the calling thread, now. Nowhere on threads that have no Python frame.
  static SourceLine here();
  /// Such as `train.py:12 in forward, for GeluBackward0`; "" for nowhere.
  [[nodiscard]] std::string text() const;

 private:
  std::shared_ptr<torch::CapturedTraceback> frames_;
  std::string node_;
};

}  // namespace stowage::recompute
