#include "simulator/device/counters.h"

#include <cstdio>
#include <mutex>

#include "simulator/device/machine.h"
#include "simulator/device/memory/misuse.h"
#include "simulator/device/pointers.h"

extern "C" {
using stowage::simulator::Machine;

__attribute__((visibility("default"))) void stowage_sim_counters(stowage_sim_counters_t* into) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::mutex> guard(machine.lock);
  *into = machine.snapshot();
  into->misuses = stowage::simulator::misuses();
}

__attribute__((visibility("default"))) void stowage_sim_reset(void) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::mutex> guard(machine.lock);
  machine.reset_counts();
  stowage::simulator::forget_misuses();
  stowage::simulator::reset_pointer_counts();
}

__attribute__((visibility("default"))) const char* stowage_sim_last_misuse(void) {
  return stowage::simulator::last_misuse();
}

__attribute__((visibility("default"))) int64_t stowage_sim_report_leaks(void) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::mutex> guard(machine.lock);
  std::int64_t held = 0;
  for (int device = 0; device < machine.devices(); ++device) {
    held +=
        machine.memory(device).each_held([&](const char* kind, std::uint64_t address, std::uint64_t bytes) {
          std::fprintf(stderr, "stowage simulator: device %d still holds a %s at %#lx of %lu bytes\n", device,
                       kind, address, bytes);
        });
  }
  return held;
}
}
