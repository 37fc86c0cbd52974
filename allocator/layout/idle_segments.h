// Which segments of an arena have no memory now, and how they get some again.
//
// Why: an arena that is unused for a while (an evaluation runs, a plan was left, the device is full) need not
// hold memory. A segment without memory counts as in use in the layout, so that the hot path needs no check
// for it: a request for it finds a slot in use, and only then this class is called.
//
// Thread safety: committed() from any thread. All else under the lock of the hot path; give_back() alone runs
// without it, since it waits for the device. Whoever calls take_out(), give_back(), put_back(),
// commit_below() or changes the arena holds `changing()` as well, and takes it first; commit_for() only tries
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "allocator/arena/arena.h"
#include "allocator/layout/layout.h"

namespace stowage::allocator {

class IdleSegments {
 public:
  /// `arena` outlives this.
  explicit IdleSegments(Arena& arena) : arena_(arena) { note_arena(); }

  [[nodiscard]] std::mutex& changing() noexcept { return changing_; }
  /// The arena may have other segments now, and its layout was made again.
  void note_arena();
  /// Bytes of the arena that are backed by memory.
  [[nodiscard]] Bytes committed() const noexcept { return Bytes(committed_.load(std::memory_order_relaxed)); }
  /// True if [begin, end) lacked memory and has some now. Once the device has none, false until on_mark().
  bool commit_for(std::uint64_t begin, std::uint64_t end, Layout& layout);
  void on_mark() noexcept { device_full_ = false; }
  /// While this is set, commit_for() takes no memory.
  void hold_back(bool wanted) noexcept { held_back_ = wanted; }
  /// Bytes that commit_for() would take from the device.
  [[nodiscard]] Bytes lacking(std::uint64_t begin, std::uint64_t end) const;
  /// Bytes of the segments that something lies in which begins at none of the offsets `but` (ascending).
  [[nodiscard]] Bytes pinned(const Layout& layout, const std::vector<std::uint64_t>& but) const;
  /// Makes `layout`, which is that of `plans`, again so that it gives out nothing in segments from `from` on
  /// where nothing is live now: the highest of them, until they are `most` bytes or more. Throws
  /// std::bad_alloc, and nothing has changed then.
  void take_out(Offset from, Bytes most, const std::vector<Plan>& plans, Layout& layout);
  /// Gives back the memory of what was taken out.
  void give_back() noexcept;
  /// Puts what the arena could not give back in service again. The bytes that went.
  Bytes put_back(Layout& layout);
  /// Memory for all segments that begin below `end`. Error: kOutOfMemory; some may have got theirs.
  Status commit_below(Bytes end, Layout& layout);

 private:
  Status commit(std::size_t position, Layout& layout);

  Arena& arena_;
  std::mutex changing_;
  /// As they were when the layout was made, since the arena must not be read while its memory changes. idle_
  /// says which have memory now.
  std::vector<Segment> segments_;
  std::vector<std::size_t> idle_;  ///< indices of segments without memory, ascending
  bool device_full_ = false;
  bool held_back_ = false;
  std::atomic<std::uint64_t> committed_{0};
};

}  // namespace stowage::allocator
