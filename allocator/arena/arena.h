// One reserved range of device addresses, in service from its base up to `mapped()`.
//
// That range consists of segments: pieces of physical memory, each of which can go back to the device and
// come again while the addresses stay. Thread safety: grow(), commit(), decommit() and the destructor need
// exclusive use; the getters do not change in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace stowage::allocator {

/// A piece of an arena, [begin, end) in offsets. Without memory (not `committed`) it must not be touched.
struct Segment {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool committed = true;
  [[nodiscard]] Bytes bytes() const { return Bytes(end - begin); }
};

/// When an arena takes memory for its segments.
enum class Backing : std::uint8_t {
  kNow,     ///< when they are put in service
  kOnUse,   ///< with commit(), where the backend can back a part; else as kNow
  kInPages  ///< as kOnUse, in small segments: for far more addresses than will ever have memory
};

class Arena {
 public:
  virtual ~Arena() = default;
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// First address; aligned to at least 2 MiB on CUDA, to a page on the host.
  [[nodiscard]] virtual void* base() const noexcept = 0;
  /// Bytes of address range that belong to the arena, backed or not.
  [[nodiscard]] virtual Bytes reserved() const noexcept = 0;
  /// Bytes in service from the base on: those of all segments.
  [[nodiscard]] virtual Bytes mapped() const noexcept = 0;
  /// Bytes backed by physical memory now: those of the committed segments.
  [[nodiscard]] virtual Bytes committed() const noexcept = 0;
  /// All segments, in order of offset, without a gap. At most a few hundred for each growth.
  [[nodiscard]] virtual std::vector<Segment> segments() const = 0;
  /// Puts at least [0, bytes) in service; new segments are committed if Backing says so. All or
  /// nothing. Error: kOutOfMemory (device full, or beyond reserved()).
  virtual Status grow(Bytes bytes) = 0;
  /// Frees the memory of the `index`-th segment; its content is lost. Waits for the device. False, and
  /// nothing happens: it has none, or the backend cannot free a part.
  virtual bool decommit(std::size_t index) noexcept = 0;
  /// Gives the `index`-th segment new memory, if it has none. Error: kOutOfMemory.
  virtual Status commit(std::size_t index) = 0;
};

// Backends live in <name>_backend.h and meet the concept in backend.h; make_arena(backend, reserved, mapped)
// there returns Result<std::unique_ptr<Arena>>.

}  // namespace stowage::allocator
