// All arenas of the process by address range: maps a bare pointer to the device that it belongs to.
//
// Why: deleters, raw_delete and record_stream get nothing but an address.
// Thread safety: find() takes no lock and may run concurrently with add() and remove(). A range is removed
// only after its last block was freed, so no find() for one of its addresses is running then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "allocator/arena/arena.h"

namespace stowage::plugin {

struct CudaDevice;

/// One arena and its device. Never destroyed.
struct ArenaEntry {
  ArenaEntry(CudaDevice& device_in, const allocator::Arena& arena)
      : device(device_in),
        base(arena.base()),
        reserved(arena.reserved().value()),
        mapped(arena.mapped().value()),
        segments(arena.segments()) {}
  [[nodiscard]] bool covers(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base) < reserved;
  }

  /// The maximal ranges that are backed by physical memory.
  [[nodiscard]] std::vector<allocator::Segment> committed_runs();

  CudaDevice& device;
  void* const base;
  const std::uint64_t reserved;
  std::atomic<std::uint64_t> mapped;         ///< bytes in service; 0 once the arena is gone
  std::mutex changing;                       ///< held while memory is mapped, unmapped or shared with peers
  std::vector<allocator::Segment> segments;  ///< under `changing`; none once the arena is gone
};

class ArenaDirectory {
 public:
  /// Arenas that may exist at once; sixteen for each of eight devices.
  static constexpr std::size_t kCapacity = 128;

  constexpr ArenaDirectory() = default;
  ArenaDirectory(const ArenaDirectory&) = delete;
  ArenaDirectory& operator=(const ArenaDirectory&) = delete;

  /// The arena that `address` lies in, or nullptr.
  [[nodiscard]] ArenaEntry* find(const void* address) const noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      ArenaEntry* entry = entries_[i].load(std::memory_order_acquire);
      if (entry != nullptr && entry->covers(address)) return entry;
    }
    return nullptr;
  }
  /// Registers `arena`, until remove() of the result. Error: kUnsupported beyond kCapacity.
  Result<ArenaEntry*> add(CudaDevice& device, const allocator::Arena& arena);
  void remove(ArenaEntry* entry);
  /// The arenas of `device` at this moment.
  [[nodiscard]] std::vector<ArenaEntry*> arenas_of(const CudaDevice& device) const;

 private:
  std::mutex changing_;
  std::array<std::atomic<ArenaEntry*>, kCapacity> entries_{};
  std::atomic<std::size_t> count_{0};
};

/// The process's directory. Never destroyed: tensors are freed after static destructors, too.
extern constinit ArenaDirectory the_arena_directory;
static_assert(std::is_trivially_destructible_v<ArenaDirectory>);
inline ArenaDirectory& arena_directory() { return the_arena_directory; }

/// Wraps `arena` so that it is in the directory for as long as it lives. Error: as ArenaDirectory::add.
Result<std::unique_ptr<allocator::Arena>> list_arena(CudaDevice& device,
                                                     std::unique_ptr<allocator::Arena> arena);

}  // namespace stowage::plugin
