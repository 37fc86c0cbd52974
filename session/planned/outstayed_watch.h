// Detects tensors that outlive their places in the arena: a snapshot or average of the weights, or loaded
// optimizer state, made while a plan was followed. Requests that the plan has those places for miss in every
// iteration from then on. Tells when that has lasted long enough to do something about it.
//
// Thread safety: none; the conductor's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stowage::session {

class OutstayedWatch {
 public:
  static constexpr std::uint64_t kPatience = 8;  ///< iterations in a row, unless it is told another number
  static constexpr std::uint64_t kMostPatience = 1024;  ///< after useless exchanges; doubles each time

  explicit OutstayedWatch(std::uint64_t patience = kPatience) : least_(patience), patience_(patience) {}

  /// An iteration ended. `misses`: requests that found their places in use since restart(). True if it is
  /// time to act; patience is longer afterwards, until as many iterations in a row have no
  /// miss.
  bool is_due(std::uint64_t misses) {
    if (std::exchange(misses_, misses) == misses) {
      row_ = 0;
      if (++calm_ >= patience_) patience_ = least_;
      return false;
    }
    calm_ = 0;
    if (++row_ < patience_) return false;
    row_ = 0;
    patience_ = std::min(2 * patience_, kMostPatience);
    return true;
  }
  /// The arena or its plans have changed, and misses count from 0 again.
  void restart() { misses_ = row_ = calm_ = 0; }

 private:
  std::uint64_t least_;
  std::uint64_t patience_;
  std::uint64_t misses_ = 0;
  std::uint64_t row_ = 0;   ///< iterations in a row with such misses
  std::uint64_t calm_ = 0;  ///< iterations in a row without
};

}  // namespace stowage::session
