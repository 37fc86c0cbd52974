// How many bytes of copies a store holds in an iteration, at most.
//
// Copies of what no iteration writes stay from one to the next, so they take their room before they are made.
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stowage::planner::schedule {

class StoreRoom {
 public:
  explicit StoreRoom(std::uint64_t limit) : limit_(limit) {}

  /// `stays`: from one iteration to the next.
  [[nodiscard]] bool fits(std::uint64_t bytes, bool stays) const {
    return (stays ? most_ : now_) + staying_ + bytes <= limit_;
  }
  void put(std::uint64_t bytes, bool stays) {
    if (stays) {
      staying_ += bytes;
    } else {
      now_ += bytes;
      most_ = std::max(most_, now_);
    }
  }
  /// One that does not stay.
  void give_back(std::uint64_t bytes) { now_ -= bytes; }
  [[nodiscard]] bool is_exceeded() const { return most_ + staying_ > limit_; }

 private:
  std::uint64_t limit_;
  std::uint64_t now_ = 0;
  std::uint64_t most_ = 0;
  std::uint64_t staying_ = 0;
};

}  // namespace stowage::planner::schedule
