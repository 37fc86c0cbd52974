#include "allocator/arena/host_backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

namespace stowage::allocator {
namespace {

constexpr std::uint64_t kHugePage = 2u << 20;

Error host_error(const char* call, Bytes bytes) {
  return Error{ErrorCode::kOutOfMemory,
               std::string("the host refused ") + std::to_string(bytes.value()) + " bytes (" + call + ": " +
                   std::strerror(errno) +
                   "): free memory, raise the limit (ulimit -v) or plan with a lower budget"};
}

}  // namespace

Result<AddressRange> HostBackend::reserve(Bytes bytes) {
  if (bytes.value() > std::numeric_limits<std::size_t>::max() - kHugePage) {
    errno = ENOMEM;
    return host_error("mmap", bytes);
  }
  // One huge page more than asked, and what is outside the aligned range given back, so that huge pages fit
  // from the base.
  const std::size_t size = bytes.value() + kHugePage;
  void* const whole = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return host_error("mmap", bytes);
  char* const begin = static_cast<char*>(whole);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes.value(), kHugePage - before);
  return AddressRange{begin + before, bytes};
}

void HostBackend::release(AddressRange range) noexcept { munmap(range.base, range.bytes.value()); }

Status HostBackend::map(AddressRange part) {
  if (mprotect(part.base, part.bytes.value(), PROT_READ | PROT_WRITE) != 0)
    return host_error("mprotect", part.bytes);
  // A wish: kernels without transparent huge pages refuse it, and nothing depends on it.
  if (huge_pages_ && part.bytes.value() >= kHugePage)
    (void)madvise(part.base, part.bytes.value(), MADV_HUGEPAGE);
  return {};
}

void HostBackend::unmap(AddressRange part) noexcept {
  (void)madvise(part.base, part.bytes.value(), MADV_DONTNEED);
  (void)mprotect(part.base, part.bytes.value(), PROT_NONE);
}

Bytes HostBackend::granularity() const { return Bytes(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))); }

Result<MemoryInfo> HostBackend::memory() const {
  std::ifstream file("/proc/meminfo");
  MemoryInfo info;
  std::string key;
  std::string unit;
  for (std::uint64_t kib = 0; file >> key >> kib && std::getline(file, unit);) {
    if (key == "MemTotal:") info.total = Bytes(kib * 1024);
    if (key == "MemAvailable:") info.free = Bytes(kib * 1024);
  }
  if (info.total > Bytes(0)) return info;
  return Error{ErrorCode::kIo, "/proc/meminfo cannot be read: mount /proc, or set a budget in bytes"};
}

}  // namespace stowage::allocator
