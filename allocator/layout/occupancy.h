// Which parts of the arena are in use, exactly: one bit for each segment between two neighbouring slot
// boundaries.
//
// Why: a slot may overlap many slots of other entries and other plans. Cut the arena at every boundary of
// every slot; then each slot is a run of whole segments, two slots overlap exactly if their runs do, and a
// run is a few words of bits: a whole GPT iteration has some thousand segments, however many gigabytes they
// are.
// Thread safety: none. Invariant: a bit is set exactly if a taken run contains its segment.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/support/check.h"

namespace stowage::allocator {

/// The segments first..last, both included.
struct SegmentRun {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

class Occupancy {
 public:
  explicit Occupancy(std::uint32_t segments = 0) : words_(segments / 64 + 1, 0) {}

  /// Takes the run if all of it is free; else changes nothing and returns false.
  bool try_take(SegmentRun run) noexcept {
    const Words at(run);
    std::uint64_t* const word = words_.data();
    if (at.begin == at.end) [[likely]] {
      const std::uint64_t mask = at.head & at.tail;
      if ((word[at.begin] & mask) != 0) return false;
      word[at.begin] |= mask;
      return true;
    }
    std::uint64_t used = (word[at.begin] & at.head) | (word[at.end] & at.tail);
    for (std::uint32_t i = at.begin + 1; i < at.end; ++i) used |= word[i];
    if (used != 0) return false;
    word[at.begin] |= at.head;
    for (std::uint32_t i = at.begin + 1; i < at.end; ++i) word[i] = ~std::uint64_t{0};
    word[at.end] |= at.tail;
    return true;
  }

  /// Marks the run as taken, whatever of it is taken already.
  void cover(SegmentRun run) noexcept {
    const Words at(run);
    if (at.begin == at.end) {
      words_[at.begin] |= at.head & at.tail;
      return;
    }
    words_[at.begin] |= at.head;
    for (std::uint32_t i = at.begin + 1; i < at.end; ++i) words_[i] = ~std::uint64_t{0};
    words_[at.end] |= at.tail;
  }
  /// Becomes what is taken in `one` or `other`. Requires: all three are of as many segments.
  void unite(const Occupancy& one, const Occupancy& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = one.words_[i] | other.words_[i];
  }
  /// Calls `work` with each longest run of free segments below `count`, in order.
  template <class Work>
  void for_free_runs(std::uint32_t count, const Work& work) const {
    std::uint32_t at = 0;
    while ((at = next(at, count, /*taken=*/false)) < count) {
      const std::uint32_t end = next(at, count, /*taken=*/true);
      work(SegmentRun{at, end - 1});
      at = end;
    }
  }

  /// Requires: the run was taken and not given back since.
  void give_back(SegmentRun run) noexcept {
    const Words at(run);
    std::uint64_t* const word = words_.data();
    if (at.begin == at.end) [[likely]] {
      STOWAGE_DCHECK((word[at.begin] & at.head & at.tail) == (at.head & at.tail),
                     "gives back what is not taken");
      word[at.begin] &= ~(at.head & at.tail);
      return;
    }
    word[at.begin] &= ~at.head;
    for (std::uint32_t i = at.begin + 1; i < at.end; ++i) word[i] = 0;
    word[at.end] &= ~at.tail;
  }

 private:
  /// The words that hold a run, and the run's bits in the first and the last of them.
  struct Words {
    explicit Words(SegmentRun run)
        : begin(run.first / 64),
          end(run.last / 64),
          head(~std::uint64_t{0} << (run.first % 64)),
          tail(~std::uint64_t{0} >> (63 - run.last % 64)) {}
    std::uint32_t begin;
    std::uint32_t end;
    std::uint64_t head;
    std::uint64_t tail;
  };

  /// The first segment from `at` on that is taken, or free; `count` if there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t at, std::uint32_t count, bool taken) const noexcept {
    while (at < count) {
      const std::uint64_t word = (taken ? words_[at / 64] : ~words_[at / 64]) >> (at % 64);
      if (word != 0) return std::min(count, at + static_cast<std::uint32_t>(std::countr_zero(word)));
      at = (at / 64 + 1) * 64;
    }
    return count;
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace stowage::allocator
