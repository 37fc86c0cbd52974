// Which segments of an arena that is served online have memory, and how they get and lose it.
//
// Unlike a plan's arena (layout/idle_segments.h) this one grows with the requests, from nothing, and which
// addresses a request may get is not known before.
//
// Thread safety: committed() from any thread. All else under the lock of the hot path, but for give_back(),
// which waits for the device. Whoever calls take_out(), give_back() and put_back() holds changing() as well,
// and takes it first; commit() and grow() only try it. Invariant: a segment that leaves holds nothing live.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "allocator/arena/arena.h"

namespace stowage::allocator {

class OnlineMemory {
 public:
  /// `arena` outlives this.
  explicit OnlineMemory(Arena& arena) : arena_(arena) { look(); }

  [[nodiscard]] std::mutex& changing() noexcept { return changing_; }
  /// Bytes of the arena that are backed by memory.
  [[nodiscard]] Bytes committed() const noexcept { return Bytes(committed_.load(std::memory_order_relaxed)); }
  /// Bytes of addresses in service.
  [[nodiscard]] std::uint64_t mapped() const { return segments_.empty() ? 0 : segments_.back().end; }
  /// Every segment has memory, and none leaves.
  [[nodiscard]] bool is_whole() const { return lacking_ == 0; }
  /// Bytes that commit() would take from the device for [begin, end).
  [[nodiscard]] Bytes lacking(std::uint64_t begin, std::uint64_t end) const;
  /// A part of [begin, end) is about to lose its memory.
  [[nodiscard]] bool leaves(std::uint64_t begin, std::uint64_t end) const;
  /// Where the segment that contains `offset` begins and ends. Requires: offset < mapped().
  [[nodiscard]] std::uint64_t segment_begin(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t segment_end(std::uint64_t offset) const;
  /// True if all of [begin, end) has memory now. Once the device has none, false until on_mark().
  bool commit(std::uint64_t begin, std::uint64_t end);
  /// True if at least [0, end) is in service now, with memory or without.
  bool grow(std::uint64_t end);
  void on_mark() noexcept { device_full_ = false; }
  /// While this is set no memory is taken.
  void hold_back(bool wanted) noexcept { held_back_ = wanted; }
  [[nodiscard]] bool is_held_back() const noexcept { return held_back_ || device_full_; }

  /// The segments whole in [begin, end), where nothing is live, from the highest on until `most` bytes or
  /// more leave, and none that begins below `from`. Returns how many bytes.
  Bytes take_out(std::uint64_t begin, std::uint64_t end, std::uint64_t from, Bytes most);
  /// Gives back the memory of what was taken out.
  void give_back() noexcept;
  /// What could not be given back is in service again. The bytes that went.
  Bytes put_back();
  /// New memory for all segments that have none. Error: kOutOfMemory; some may have got theirs.
  Status commit_all();

 private:
  enum class State : std::uint8_t { kWhole, kLeaves, kNone };
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    State state = State::kWhole;
  };

  [[nodiscard]] std::size_t at(std::uint64_t offset) const;
  void look();
  Status commit(std::size_t index);

  Arena& arena_;
  std::mutex changing_;
  std::vector<Piece> segments_;  ///< as last seen: the arena must not be read while its memory changes
  std::uint64_t mean_ = 1;       ///< bytes of a segment
  std::size_t lacking_ = 0;      ///< segments that are not whole
  bool device_full_ = false;
  bool held_back_ = false;
  std::atomic<std::uint64_t> committed_{0};
};

}  // namespace stowage::allocator
