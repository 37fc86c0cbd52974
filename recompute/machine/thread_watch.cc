#include "recompute/machine/thread_watch.h"

#include <ATen/record_function.h>

#include <memory>

#include "recompute/machine/machine.h"
#include "recompute/threads/seen_thread.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

struct UnseenOp : at::ObserverContext {
  const UnseenOpRuns runs;
};

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction&) {
  Machine& all = machine();
  if (takes_part() || this_thread().replaying > 0 || !all.on.load(std::memory_order_relaxed)) return nullptr;
  auto unseen = std::make_unique<UnseenOp>();  // before the lock: an eviction under way ends, no other begins
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  all.residency.restore_all();
  all.book.forget_history();  // the op may write: nothing made so far may start from what it reads later
  take_part(true);
  return unseen;
}

void on_end(const at::RecordFunction&, at::ObserverContext*) {}

}  // namespace

// Added once and then only switched: removal must not race with threads that run ops.
void watch_threads(bool on) {
  static at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  if (handle == at::INVALID_CALLBACK_HANDLE) {
    if (on)
      handle = at::addGlobalCallback(
          at::RecordFunctionCallback(&on_begin, &on_end).scopes({at::RecordScope::FUNCTION}));
    return;
  }
  on ? at::reenableCallback(handle) : at::disableCallback(handle);
}

}  // namespace stowage::recompute
