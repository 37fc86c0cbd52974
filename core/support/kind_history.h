// The kinds of a job's latest iterations, and which kind most likely comes next.
//
// What followed most often after the longest earlier runs that are like the latest iterations; so an
// evaluation every n iterations, or n micro-steps, are foretold from their second round on, and one that came
// once after many training steps is not foretold after each of them. As long as it comes true the place moves
// along, and nothing is searched.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage {

class KindHistory {
 public:
  static constexpr std::size_t kMost = 512;  ///< iterations that are remembered

  /// An iteration of `kind` ended. Returns the kind that most likely comes next; without any precedent the
  /// one before it.
  std::uint32_t next_after(std::uint32_t kind);
  /// An iteration of `kind` ended; what comes next is known already.
  void append(std::uint32_t kind);
  /// What most likely follows, should `kind` be the next; `kind` itself if it never came.
  [[nodiscard]] std::uint32_t followed_last(std::uint32_t kind) const;
  void clear() { kinds_.clear(), foretold_ = 0; }
  /// Oldest first.
  [[nodiscard]] const std::vector<std::uint32_t>& kinds() const { return kinds_; }

 private:
  [[nodiscard]] std::size_t likeliest_next() const;

  std::vector<std::uint32_t> kinds_;
  std::size_t foretold_ = 0;  ///< the place in kinds_ that says what comes next; 0: none does
};

}  // namespace stowage
