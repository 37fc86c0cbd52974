#include "plugin/cuda/arena_ledger.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace stowage::plugin {
namespace {

/// Bytes of words for an arena of `reserved` bytes: one word a granule.
std::size_t table_bytes(std::uint64_t reserved) {
  return (reserved + kGranule.value() - 1) / kGranule.value() * sizeof(std::atomic<std::uint64_t>);
}

}  // namespace

ArenaLedger::ArenaLedger(void* base, Bytes reserved)
    : base_(reinterpret_cast<std::uintptr_t>(base)), reserved_(reserved.value()) {
  // Zero pages that appear on first touch are just what an empty ledger is.
  void* table = mmap(nullptr, std::max<std::size_t>(table_bytes(reserved_), 1), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) throw std::bad_alloc();
  words_ = static_cast<std::atomic<std::uint64_t>*>(table);
}

ArenaLedger::~ArenaLedger() { munmap(words_, std::max<std::size_t>(table_bytes(reserved_), 1)); }

void ArenaLedger::retire() noexcept {
  madvise(words_, std::max<std::size_t>(table_bytes(reserved_), 1), MADV_DONTNEED);
}

std::vector<ArenaBlock> ArenaLedger::live_blocks(Bytes mapped) const {
  std::vector<ArenaBlock> blocks;
  const std::size_t end = std::min(mapped.value(), reserved_) / kGranule.value();
  for (std::size_t i = 0; i < end;) {
    const ArenaBlock block = unpack(i, words_[i].load(std::memory_order_relaxed));
    if (block.rounded > Bytes{0}) blocks.push_back(block);
    i += std::max<std::size_t>(1, block.rounded.value() / kGranule.value());
  }
  return blocks;
}

}  // namespace stowage::plugin
