#include "recompute/away/guard_range.h"

#include <sys/mman.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <mutex>

#include <array>
#include <atomic>

namespace stowage::recompute {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 38;   // 256 GiB of addresses, no memory
constexpr std::size_t kLeastBytes = std::size_t{1} << 32;  // where addresses are scarce; what is larger stays

std::atomic<char*> guard{nullptr};
std::atomic<std::size_t> guard_bytes{0};
struct sigaction previous_action;

bool in_guard(const void* address) noexcept {
  const char* const base = guard.load(std::memory_order_relaxed);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  return base != nullptr && at >= begin && at < begin + guard_bytes.load(std::memory_order_relaxed);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  constexpr std::array kMessage = std::to_array(
      "stowage: code that goes through no ATen op touched an evicted tensor. Keep such tensors with "
      "stowage's pin, or run the job without a budget.\n");
  if (in_guard(info->si_addr)) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage.data(), kMessage.size() - 1);
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr)
    return previous_action.sa_sigaction(signal, info, context);
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
    return previous_action.sa_handler(signal);
  sigaction(signal, &previous_action,
            nullptr);  // the access is repeated and ends the process as it always did
}

void name_faults() {
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_action);
}

}  // namespace

Status reserve_guard_range() {
  static std::mutex making;
  const std::lock_guard<std::mutex> lock(making);
  if (guard.load() != nullptr) return {};
  void* made = MAP_FAILED;
  for (std::size_t bytes = kMostBytes; bytes >= kLeastBytes && made == MAP_FAILED; bytes /= 2) {
    made = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    guard_bytes.store(bytes);
  }
  if (made == MAP_FAILED)
    return Error{
        ErrorCode::kUnsupported,
        "cannot reserve the addresses that evicted tensors point to; raise the limit of address space "
        "(ulimit -v) or run without a budget"};
  guard.store(static_cast<char*>(made));
  name_faults();
  return {};
}

void* guard_address() noexcept { return guard.load(std::memory_order_relaxed); }
bool guard_covers(std::size_t bytes) noexcept { return bytes <= guard_bytes.load(std::memory_order_relaxed); }

}  // namespace stowage::recompute
