// Whether a job that is served without a plan has come to repeat itself, by hashes of what each iteration
// allocates.
//
// Why not a recording: that would cost each request several times what serving it does, for ever.
//
// Thread safety: none; the conductor's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>

namespace stowage::session {

class Repetition {
 public:
  static constexpr std::size_t kInARow = 8;        ///< iterations that came before
  static constexpr std::size_t kRemembered = 64;   ///< iterations
  static constexpr std::uint64_t kFirstRest = 16;  ///< iterations after which a recording may begin

  /// Iterations are compared from here on.
  void restart() { seen_.clear(), since_ = 0; }
  /// An iteration ended. True: as the last ones did, it came before, and they are of at most `kinds` kinds.
  /// Then it rests, each time for twice as long.
  bool on_iteration(std::uint64_t hash, std::uint64_t kinds) {
    seen_.push_back(hash);
    if (seen_.size() > kRemembered) seen_.pop_front();
    if (++since_ < rest_ || !comes_again(kinds)) return false;
    since_ = 0;
    rest_ *= 2;
    return true;
  }

 private:
  [[nodiscard]] bool comes_again(std::uint64_t kinds) const {
    if (seen_.size() < kInARow) return false;
    const auto first = seen_.end() - static_cast<std::ptrdiff_t>(kInARow);
    return std::set<std::uint64_t>(first, seen_.end()).size() <= kinds &&
           std::all_of(first, seen_.end(), [this](std::uint64_t hash) {
             return std::count(seen_.begin(), seen_.end(), hash) > 1;
           });
  }

  std::deque<std::uint64_t> seen_;
  std::uint64_t since_ = 0;
  std::uint64_t rest_ = kFirstRest;
};

}  // namespace stowage::session
