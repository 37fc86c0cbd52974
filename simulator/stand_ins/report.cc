// STOWAGE_SIM_REPORT=1: the counters, as one line, when the process ends.
#include <cstdio>

#include "simulator/device/machine.h"
#include "simulator/device/pointers.h"

namespace stowage::simulator {
namespace {

void print_report() {
  stowage_sim_counters_t seen;
  stowage_sim_counters(&seen);
  constexpr double kMib = 1 << 20;
  std::fprintf(stderr,
               "stowage simulator: launches %ld copies %ld mallocs %ld frees %ld vmm %ld syncs %ld oom %ld "
               "misuses %ld "
               "used %.1f MiB peak %.1f MiB host %.3f ms device %.3f ms\n",
               seen.launches, seen.copies, seen.mallocs, seen.frees, seen.vmm_calls, seen.synchronizations,
               seen.out_of_memory, seen.misuses, static_cast<double>(seen.used_bytes) / kMib,
               static_cast<double>(seen.peak_bytes) / kMib, static_cast<double>(seen.host_ns) / 1e6,
               static_cast<double>(seen.device_ns) / 1e6);
}

__attribute__((destructor)) void at_exit() {
  if (Machine::in_use() && settings().report) print_report();
  if (Machine::in_use() && settings().verbose) print_unseen();
}

}  // namespace
}  // namespace stowage::simulator
