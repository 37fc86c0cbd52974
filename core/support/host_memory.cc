#include "core/support/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace stowage {
namespace {

constexpr std::uint64_t kKibi = 1024;

// What stands first in a file; nothing if that is no number.
std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number && number > 0 ? std::optional(number) : std::nullopt;
}

// Of control groups, version 2 and 1.
std::optional<std::uint64_t> container(const char* now, const char* before) {
  const std::optional<std::uint64_t> number = number_in(now);
  return number ? number : number_in(before);
}

std::uint64_t container_limit() {
  return container("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
      .value_or(~0ull);
}

std::uint64_t container_use() {
  return container("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")
      .value_or(0);
}

std::uint64_t available_on_machine() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t kibi = 0;
  for (std::string word; file >> word;) {
    if (word == "MemAvailable:" && file >> kibi) return kibi * kKibi;
  }
  return 0;
}

}  // namespace

Bytes host_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return Bytes(0);
  const auto machine = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  return Bytes(std::min(machine, container_limit()));
}

Bytes free_host_memory() {
  const std::uint64_t limit = container_limit();
  return Bytes(std::min(available_on_machine(), limit - std::min(limit, container_use())));
}

}  // namespace stowage
