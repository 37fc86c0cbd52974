#include "simulator/device/fault.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "simulator/device/machine.h"

namespace stowage::simulator {
namespace {

constexpr std::size_t kTextBytes = 512;
struct sigaction previous_action;

// Runs in a signal handler: no locks, no heap. Device ranges never change once the machine stands.
void say_fault(std::uintptr_t address, int device) {
  char text[kTextBytes];
  const int length = std::snprintf(
      text, sizeof text,
      "stowage simulator: fault: the host touched %#lx, an address of device %d with no live memory "
      "behind it (freed, unmapped, or never mapped)\n",
      address, device);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) return;
}

void on_fault(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (const int device = Machine::get().device_of(address); device >= 0) say_fault(address, device);
  // Put back what was there and return: the instruction faults again, into the previous owner of the signal.
  sigaction(SIGSEGV, &previous_action, nullptr);
}

}  // namespace

void install_fault_reporter() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous_action);
}

}  // namespace stowage::simulator
