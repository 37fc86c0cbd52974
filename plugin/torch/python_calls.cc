#include "plugin/torch/python_calls.h"

#include <dlfcn.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "session/settings/notice.h"
#include "tracer/observers/backward_pass.h"

namespace stowage::plugin {
namespace {

using Work = std::function<void()>;
using AddPendingCall = int (*)(int (*)(void*), void*);

// An error would be raised in the job, wherever it happens to be.
int run(void* queued) noexcept {
  const std::unique_ptr<Work> work(static_cast<Work*>(queued));
  if (tracer::inside_backward()) return 0;
  try {
    (*work)();
  } catch (const std::exception& error) {
    session::warn(std::string("between two ops: ") + error.what());
  }
  return 0;
}

}  // namespace

bool call_in_python(Work work) {
  static const auto add = reinterpret_cast<AddPendingCall>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
  if (add == nullptr) return false;
  auto queued = std::make_unique<Work>(std::move(work));
  if (add(&run, queued.get()) != 0) return false;
  static_cast<void>(queued.release());
  return true;
}

}  // namespace stowage::plugin
