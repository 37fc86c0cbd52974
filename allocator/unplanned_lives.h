// How long requests live that no plan knows, by size: if those of an iteration were freed within it, the next
// ones probably will be, and may borrow a place of the plan until that is needed. A copy of weights that
// stays may not.
//
// Sizes are taken together by quarters of octaves, since such requests differ from one iteration to the
// next.
//
// Thread safety: none; the owner locks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "core/trace.h"

namespace stowage::allocator {

class UnplannedLives {
 public:
  /// Notes a request that no plan knows; true if all those of about this size were freed within their
  /// iterations so far, of which there were some.
  bool are_short(Bytes bytes) noexcept {
    Fate& fate = fates_[class_of(bytes)];
    fate.asked = true;
    return fate.was == Was::kShort;
  }
  /// What the iteration allocated in which are_short() was called. More allocations of a size that outlived
  /// it than in the iterations of any of `plans`: some that no plan knows did. O(lives + entries).
  void learn(const std::vector<RequestLife>& lives, const std::vector<Plan>& plans);

 private:
  static constexpr std::size_t kClasses = 256;
  enum class Was : std::uint8_t { kUnknown, kShort, kLasting };
  struct Fate {
    Was was = Was::kUnknown;
    bool asked = false;  ///< in the present iteration
  };
  using Counts = std::array<std::uint32_t, kClasses>;

  static std::size_t class_of(Bytes bytes) noexcept;
  static Counts crossing_at_most(const std::vector<Plan>& plans);

  std::array<Fate, kClasses> fates_{};
};

}  // namespace stowage::allocator
