#include "simulator/misuse.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "simulator/machine.h"
#include "simulator/pointers.h"

namespace stowage::simulator {
namespace {

constexpr std::size_t kTextBytes = 512;
char last_text[kTextBytes] = "";
std::mutex last_lock;
std::atomic<std::int64_t> misuse_count{0};
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

CUresult misuse(CUresult code, const char* format, ...) {
  char text[kTextBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "stowage simulator: %s\n", text);
  misuse_count += 1;
  const std::lock_guard<std::mutex> guard(last_lock);
  std::snprintf(last_text, sizeof last_text, "%s", text);
  return code;
}

void install_fault_reporter() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous_action);
}

}  // namespace stowage::simulator

extern "C" {
using stowage::simulator::Machine;

__attribute__((visibility("default"))) void stowage_sim_counters(stowage_sim_counters_t* into) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::mutex> guard(machine.lock);
  *into = machine.snapshot();
  into->misuses = stowage::simulator::misuse_count;
}

__attribute__((visibility("default"))) void stowage_sim_reset(void) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::mutex> guard(machine.lock);
  machine.reset_counts();
  stowage::simulator::misuse_count = 0;
  stowage::simulator::reset_pointer_counts();
}

__attribute__((visibility("default"))) const char* stowage_sim_last_misuse(void) {
  return stowage::simulator::last_text;
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
