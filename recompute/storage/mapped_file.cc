#include "recompute/storage/mapped_file.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

namespace stowage::recompute {

bool is_in_private_file(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             &std::fclose);
  char line[512];
  while (maps && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char access[5] = {};
    std::uint64_t inode = 0;
    const char* const format = "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %" SCNu64;
    if (std::sscanf(line, format, &begin, &end, access, &inode) != 4) continue;
    if (begin <= wanted && wanted < end) return access[3] == 'p' && inode != 0;
  }
  return false;
}

}  // namespace stowage::recompute
