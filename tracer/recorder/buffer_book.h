// The buffers of a recording: which address is which buffer, what is kept of those whose window was
// forgotten.
//
// A buffer is named by a key. Keys of recorded allocations count up from 0 and index the log; a buffer
// that only an op's argument reveals (alive before recording began) has a key of kDiscovered or above.
// Buffers that outlive their window in the log move to a side table, where they stay while they matter to a
// window that is still there.
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/support/address_map.h"
#include "core/trace.h"
#include "tracer/recorder/log.h"

namespace stowage::tracer {

class BufferBook {
 public:
  static constexpr std::uint64_t kDiscovered = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  /// What outlived its window in the log.
  struct Kept {
    Buffer buffer;
    std::uintptr_t address = 0;  ///< of discovered ones only
    Tick last_use{0};            ///< of discovered ones only
  };

  /// Enters an allocation born at `buffer.birth`. Requires: address not null, close(address) was called.
  void add(const void* address, const Buffer& buffer);
  /// The buffer at `address` if its end has not been seen, else null. A hit is by the address that was
  /// allocated.
  Buffer* find(const void* address);
  /// Completes the free of the buffer at `address` at `tick`; false when there is none.
  bool close(const void* address, Tick tick);
  /// The memory at `address` goes, and its buffer lives on without an address, under the name `id`. Nothing
  /// happens where no allocation there was seen.
  void set_aside(const void* address, std::uint64_t id);
  /// The buffer of that name lies at `address` from now on. False: there is none.
  bool bring_back(const void* address, std::uint64_t id);
  /// It dies at `tick`, if there is one.
  void close_aside(std::uint64_t id, Tick tick);
  /// Key of the buffer that holds `address`; one is made for memory that was never seen allocated. kNoKey for
  /// null.
  std::uint64_t resolve(const void* address, Bytes bytes, Tick now);

  /// Forgets log entries before `key`, keeping what is alive at `base` or later on the side.
  void forget_before(std::uint64_t key, Tick base);

  [[nodiscard]] const Log<Buffer>& log() const { return log_; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, Kept>& kept() const { return kept_; }
  /// Rounded bytes of the buffers that were seen allocated and not freed.
  [[nodiscard]] std::uint64_t live_bytes() const { return live_bytes_; }

 private:
  Buffer& at(std::uint64_t key) { return log_.holds(key) ? log_[key] : kept_.at(key).buffer; }
  std::uint64_t find_around(std::uintptr_t address);
  std::uint64_t discover(std::uintptr_t address, Bytes bytes, Tick now);
  void end(std::uint64_t key, Tick tick);
  void drop_aliases(std::uint64_t key);
  void prune(Tick base);

  Log<Buffer> log_;
  AddressMap<std::uint64_t> live_;
  std::unordered_map<std::uint64_t, Kept> kept_;
  std::vector<std::pair<std::uint64_t, std::uintptr_t>>
      aliases_;                                             // inner addresses that were asked for; rare
  std::unordered_map<std::uint64_t, std::uint64_t> aside_;  ///< keys, by name
  std::uint64_t next_discovered_ = kDiscovered;
  std::uint64_t live_bytes_ = 0;
};

/// Whether `buffer` is alive at `base` or later.
constexpr bool outlives(const Buffer& buffer, Tick base) { return buffer.death >= base; }

}  // namespace stowage::tracer
