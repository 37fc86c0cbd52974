// When tensors stay in their places past the plan's lifetime: a snapshot of the weights, an average of them,
// optimizer state that was loaded, made while a plan was followed. The buffers that the plan puts in their
// places miss in every iteration from then on. This tells when that has gone on for long enough to exchange
// the arena.
//
// Thread safety: none; the conductor's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stowage::session {

class OutstayedWatch {
 public:
  static constexpr std::uint64_t kPatience = 8;         ///< iterations in a row
  static constexpr std::uint64_t kMostPatience = 1024;  ///< after futile exchanges; each time it doubles

  /// An iteration ended. `misses`: requests that found their places in use since restart(). True if it is
  /// time to exchange the arena, after which patience is longer until as many iterations in a row have no
  /// miss.
  bool is_due(std::uint64_t misses) {
    if (std::exchange(misses_, misses) == misses) {
      row_ = 0;
      if (++calm_ >= patience_) patience_ = kPatience;
      return false;
    }
    calm_ = 0;
    if (++row_ < patience_) return false;
    row_ = 0;
    patience_ = std::min(2 * patience_, kMostPatience);
    return true;
  }
  /// The arena or its plans have changed, and misses count from zero again.
  void restart() { misses_ = row_ = calm_ = 0; }

 private:
  std::uint64_t patience_ = kPatience;
  std::uint64_t misses_ = 0;
  std::uint64_t row_ = 0;   ///< iterations in a row with such misses
  std::uint64_t calm_ = 0;  ///< and without
};

}  // namespace stowage::session
