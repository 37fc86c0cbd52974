// The states that are known to have no solution, by their keys.
//
// A hash table of a fixed size in which new entries displace old ones, so that memory stays bounded and
// nothing is ever moved: losing an entry only costs time. A key may stand in one of the four places of its
// cache line half; the first free one is taken, else one that the key itself chooses.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

namespace stowage::planner::placement::search {

class FailedStates {
 public:
  /// Grows up to 2^most_bits keys.
  explicit FailedStates(unsigned most_bits) : most_bits_(most_bits), keys_(std::size_t{1} << kFirstBits, 0) {}

  /// False for 0, the key of a range with nothing left, which is no failure.
  [[nodiscard]] bool contains(std::uint64_t key) const {
    if (key == 0) return false;
    const std::uint64_t* const bucket = &keys_[bucket_of(key)];
    return bucket[0] == key || bucket[1] == key || bucket[2] == key || bucket[3] == key;
  }

  void insert(std::uint64_t key) {
    if (used_ * 2 > keys_.size() && bits_ < most_bits_) grow();
    put(key);
  }

 private:
  static constexpr unsigned kFirstBits = 10;

  [[nodiscard]] std::size_t bucket_of(std::uint64_t key) const {
    return (key & (keys_.size() - 1)) & ~std::size_t{3};
  }

  void put(std::uint64_t key) {
    std::uint64_t* const bucket = &keys_[bucket_of(key)];
    for (int i = 0; i < 4; ++i) {
      if (bucket[i] == key) return;
      if (bucket[i] != 0) continue;
      bucket[i] = key;
      ++used_;
      return;
    }
    bucket[key >> 62] = key;
  }

  void grow() {
    std::vector<std::uint64_t> old(std::size_t{1} << ++bits_, 0);
    old.swap(keys_);
    used_ = 0;
    for (std::uint64_t key : old) {
      if (key != 0) put(key);
    }
  }

  unsigned most_bits_;
  unsigned bits_ = kFirstBits;
  std::size_t used_ = 0;
  std::vector<std::uint64_t> keys_;  ///< 0: free
};

}  // namespace stowage::planner::placement::search
