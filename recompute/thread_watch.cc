#include "recompute/thread_watch.h"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>

#include "recompute/interposer.h"
#include "recompute/machine.h"
#include "recompute/thread_state.h"

namespace stowage::recompute {
namespace {

std::atomic<int> unseen_ops{0};
std::atomic<int> suspensions{0};

struct UnseenOp : at::ObserverContext {
  UnseenOp() { ++unseen_ops; }
  ~UnseenOp() override { --unseen_ops; }
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

bool unseen_op_runs() noexcept { return unseen_ops.load() > 0 || suspended(); }

void begin_suspension() noexcept { ++suspensions; }

void end_suspension() noexcept {
  int now = suspensions.load();
  while (now > 0 && !suspensions.compare_exchange_weak(now, now - 1)) {
  }
}

bool suspended() noexcept { return suspensions.load(std::memory_order_relaxed) > 0; }

}  // namespace stowage::recompute
