#include "simulator/device/memory/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace stowage::simulator {
namespace {

constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

AddressSpace::AddressSpace(std::uint64_t bytes) : bytes_(bytes) {
  const std::uint64_t with_slack = bytes + kDevicePageBytes;
  void* const start = mmap(nullptr, with_slack, PROT_NONE, kReserve, -1, 0);
  if (start == MAP_FAILED) {
    std::fprintf(stderr,
                 "stowage simulator: cannot reserve %llu GiB of addresses: raise the limit on address space "
                 "(ulimit -v unlimited)\n",
                 static_cast<unsigned long long>(bytes >> 30));
    std::_Exit(2);
  }
  base_ = round_up(reinterpret_cast<std::uintptr_t>(start), kDevicePageBytes);
  // One touched byte must not cost two megabytes of real memory.
  madvise(pointer(base_), bytes_, MADV_NOHUGEPAGE);
  madvise(pointer(base_), bytes_, MADV_DONTDUMP);
  free_.emplace(base_, bytes_);
  cursor_ = base_;
}

AddressSpace::~AddressSpace() { munmap(pointer(base_), bytes_); }

std::uintptr_t AddressSpace::carve(FreeRanges::iterator range, std::uintptr_t from, std::uint64_t bytes,
                                   std::uint64_t alignment) {
  const auto [start, length] = *range;
  const std::uintptr_t at = round_up(std::max(start, from), alignment);
  if (at - start > length || length - (at - start) < bytes) return 0;
  free_.erase(range);
  if (at > start) free_.emplace(start, at - start);
  const std::uint64_t rest = length - (at - start) - bytes;
  if (rest > 0) free_.emplace(at + bytes, rest);
  cursor_ = at + bytes;
  return at;
}

std::uintptr_t AddressSpace::take(std::uint64_t bytes, std::uint64_t alignment) {
  // From the cursor on, beginning inside the range that it stands in; then everything, from the start.
  auto range = free_.upper_bound(cursor_);
  if (range != free_.begin()) --range;
  for (; range != free_.end(); ++range) {
    if (const auto at = carve(range, cursor_, bytes, alignment)) return at;
  }
  for (range = free_.begin(); range != free_.end(); ++range) {
    if (const auto at = carve(range, 0, bytes, alignment)) return at;
  }
  return 0;
}

void AddressSpace::give_back(std::uintptr_t address, std::uint64_t bytes) {
  auto [range, added] = free_.emplace(address, bytes);
  if (!added) return;
  if (const auto after = std::next(range); after != free_.end() && address + bytes == after->first) {
    range->second += after->second;
    free_.erase(after);
  }
  if (range == free_.begin()) return;
  if (const auto before = std::prev(range); before->first + before->second == address) {
    before->second += range->second;
    free_.erase(range);
  }
}

bool AddressSpace::open(std::uintptr_t address, std::uint64_t bytes) {
  return mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) == 0;
}

void AddressSpace::close(std::uintptr_t address, std::uint64_t bytes) {
  mmap(pointer(address), bytes, PROT_NONE, kReserve | MAP_FIXED, -1, 0);
  madvise(pointer(address), bytes, MADV_NOHUGEPAGE);
  madvise(pointer(address), bytes, MADV_DONTDUMP);
}

}  // namespace stowage::simulator
