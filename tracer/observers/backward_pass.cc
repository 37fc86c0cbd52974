#include "tracer/observers/backward_pass.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <cstddef>
#include <mutex>
#include <set>
#include <utility>

namespace stowage::tracer {
namespace {

namespace autograd = torch::autograd;

constexpr std::size_t kMostRemembered = 64;  // passes; those that failed are never taken out otherwise

// Passes at whose end something runs. PyTorch numbers them upwards.
class Passes {
 public:
  // True if it is new.
  bool add(int pass) {
    const std::lock_guard lock(mutex_);
    if (passes_.size() >= kMostRemembered) passes_.erase(passes_.begin());
    return passes_.insert(pass).second;
  }
  void remove(int pass) {
    const std::lock_guard lock(mutex_);
    passes_.erase(pass);
  }

 private:
  std::mutex mutex_;
  std::set<int> passes_;
};

Passes& waiting() {
  static auto* const instance = new Passes;  // outlives threads that run during exit
  return *instance;
}

// At a pass's end no node runs any more, unless one of another pass waits for it.
void finish(int pass, const std::function<void()>& work) noexcept {
  try {
    waiting().remove(pass);
    if (autograd::get_current_node() == nullptr) work();
  } catch (...) {  // the job must not see a failure of ours
  }
}

}  // namespace

bool inside_backward() { return autograd::get_current_graph_task_id() != -1; }

void once_after_backward(std::function<void()> work) {
  const int pass = autograd::get_current_graph_task_id();
  if (pass == -1 || !waiting().add(pass)) return;
  autograd::Engine::get_default_engine().queue_callback(
      [pass, work = std::move(work)] { finish(pass, work); });
}

}  // namespace stowage::tracer
