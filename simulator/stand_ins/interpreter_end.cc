// A thread of torch that wants the interpreter after its end waits for the process's end.
//
// Before Python 3.14 such a thread is ended by pthread_exit() inside the destructor that asked, which aborts
// the process. Since torch 2.12 or so the threads of the backward pass on a CUDA device do so now and then:
// they release the last pass after it was reported as complete. Jobs on this device are short, and would
// often end so.
#include <dlfcn.h>
#include <unistd.h>

#include "simulator/stand_ins/api.h"

namespace {

bool interpreter_ends() {
  for (const char* name : {"Py_IsFinalizing", "_Py_IsFinalizing"})
    if (auto* asks = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name))) return asks() != 0;
  return false;
}

}  // namespace

SIM_API [[noreturn]] void pthread_exit(void* value) {
  while (interpreter_ends()) pause();
  reinterpret_cast<void (*)(void*)>(dlsym(RTLD_NEXT, "pthread_exit"))(value);
  __builtin_unreachable();
}
