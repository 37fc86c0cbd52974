#include "recompute/machine/fork_hold.h"

#include <dlfcn.h>

#include <chrono>
#include <mutex>
#include <new>
#include <thread>

#include "core/support/fork.h"
#include "recompute/machine/machine.h"
#include "recompute/settings/environment.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

constexpr auto kPause = std::chrono::microseconds(500);
constexpr int kMostPauses = 20000;

// Of the interpreter that is in the process; null where there is none.
template <class Function>
Function* python(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

bool holds_interpreter() {
  static auto* const initialised = python<int()>("Py_IsInitialized");
  static auto* const state = python<void*()>("PyGILState_GetThisThreadState");
  static auto* const holds = python<int()>("PyGILState_Check");
  if (initialised == nullptr || state == nullptr || holds == nullptr) return false;
  return initialised() != 0 && state() != nullptr && holds() != 0;
}

// Without a lock of ours held.
void let_others_run() {
  static auto* const save = python<void*()>("PyEval_SaveThread");
  static auto* const restore = python<void(void*)>("PyEval_RestoreThread");
  void* const state = holds_interpreter() && save != nullptr && restore != nullptr ? save() : nullptr;
  std::this_thread::sleep_for(kPause);
  if (state != nullptr) restore(state);
}

thread_local bool held = false;  // by this thread, which forks

void before(void* subject) {
  auto& all = *static_cast<Machine*>(subject);
  held = all.mutex.try_lock();
  for (int i = 0; i < kMostPauses && !held; ++i) {
    let_others_run();
    held = all.mutex.try_lock();
  }
  if (held) all.stores.before_fork();
}

void in_parent(void* subject) {
  if (!held) return;
  auto& all = *static_cast<Machine*>(subject);
  all.stores.after_fork(false);
  all.mutex.unlock();
}

// A recursive mutex knows its owner by a number that the child's thread does not have: it gets a new one.
void in_child(void* subject) {
  auto& all = *static_cast<Machine*>(subject);
  new (&all.mutex) std::recursive_mutex;
  keep_number_of_threads();
  all.running_ops = this_thread().running_ops;
  if (held) {
    all.stores.after_fork(true);
    all.steps.stop();
  } else {
    all.on.store(false);
  }
}

}  // namespace

void hold_runtime_over_forks() {
  handle_forks(ForkRank::kRuntime, {&before, &in_parent, &in_child, &machine()});
  hold_over_forks(machine().steps.meter.mutex());
}

}  // namespace stowage::recompute
