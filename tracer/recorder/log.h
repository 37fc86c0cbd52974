// A first-in-first-out vector in chunks: elements keep their index and their place until they are forgotten,
// and old ones are forgotten from the front. The recorder's events live in these, so that appending never
// moves existing entries.
//
// Thread safety: none; the owner locks. Invariant: begin() <= end(); every index in between is readable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/support/check.h"

namespace stowage::tracer {

template <class T>
class Log {
 public:
  /// Index of the oldest element that is still there.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// Index that the next element will get.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::uint64_t size() const { return end_ - begin_; }
  [[nodiscard]] bool holds(std::uint64_t index) const { return index >= begin_ && index < end_; }

  /// Appends and returns the place of the new element, which stays until it is forgotten.
  T& push(const T& element) {
    if (end_ == first_chunk_ * kChunk + chunks_.size() * kChunk) add_chunk();
    T& place = at(end_++);
    place = element;
    return place;
  }

  /// Requires: holds(index).
  T& operator[](std::uint64_t index) {
    STOWAGE_DCHECK(holds(index), "index was forgotten or never given");
    return at(index);
  }
  const T& operator[](std::uint64_t index) const { return const_cast<Log&>(*this)[index]; }

  /// Forgets all elements before `index`; whole chunks go back to the heap but one. Requires: index <= end().
  void forget_before(std::uint64_t index) {
    if (index <= begin_) return;
    begin_ = index;
    const std::size_t gone = begin_ / kChunk - first_chunk_;
    if (gone == 0) return;
    if (!spare_) spare_ = std::move(chunks_.front());
    chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(gone));
    first_chunk_ += gone;
  }

 private:
  static constexpr std::size_t kChunk = 4096;

  T& at(std::uint64_t index) { return chunks_[index / kChunk - first_chunk_][index % kChunk]; }
  void add_chunk() { chunks_.push_back(spare_ ? std::move(spare_) : std::make_unique<T[]>(kChunk)); }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::unique_ptr<T[]> spare_;
  std::uint64_t first_chunk_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace stowage::tracer
