#include "plugin/cuda/arena_ledger.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <thread>

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

void ArenaCounters::Guard::wait(const std::atomic_flag& busy) noexcept {
  for (int spins = 0; busy.test(std::memory_order_relaxed); ++spins) {
    if (spins >= 64) std::this_thread::yield();  // the holder may have been preempted
  }
}

ArenaCounters::Totals ArenaCounters::current(std::size_t pool) const noexcept {
  const Totals& in = allocated_[pool];
  const Totals& out = freed_[pool];
  return {in.blocks - out.blocks, in.rounded - out.rounded, in.requested - out.requested};
}

void ArenaCounters::raise(Totals& peak, const Totals& current) noexcept {
  peak.blocks = std::max(peak.blocks, current.blocks);
  peak.rounded = std::max(peak.rounded, current.rounded);
  peak.requested = std::max(peak.requested, current.requested);
}

void ArenaCounters::raise_peaks() noexcept {
  const Totals small = current(0);
  const Totals large = current(1);
  raise(peak_[0],
        {small.blocks + large.blocks, small.rounded + large.rounded, small.requested + large.requested});
  raise(peak_[1], small);
  raise(peak_[2], large);
}

ArenaUse ArenaCounters::use() {
  const Guard guard(busy_);
  raise_peaks();
  ArenaUse use;
  const auto fill = [&](std::array<Tally, 3>& tallies, std::int64_t Totals::*field) {
    for (std::size_t pool = 0; pool < 2; ++pool) {
      tallies[pool + 1] = {current(pool).*field, peak_[pool + 1].*field,
                           allocated_[pool].*field - allocated_before_[pool].*field,
                           freed_[pool].*field - freed_before_[pool].*field};
    }
    const Tally& small = tallies[1];
    const Tally& large = tallies[2];
    tallies[0] = {small.current + large.current, peak_[0].*field, small.allocated + large.allocated,
                  small.freed + large.freed};
  };
  fill(use.blocks, &Totals::blocks);
  fill(use.rounded_bytes, &Totals::rounded);
  fill(use.requested_bytes, &Totals::requested);
  return use;
}

void ArenaCounters::reset_peak() {
  const Guard guard(busy_);
  peak_ = {};
  raise_peaks();
}

void ArenaCounters::reset_accumulated() {
  const Guard guard(busy_);
  allocated_before_ = allocated_;
  freed_before_ = freed_;
}

}  // namespace stowage::plugin
