// How long requests live that no plan knows, by size: if those of an iteration were freed within it, the next
// ones probably will be, and may borrow a place of the plan until that is needed. A copy of weights that
// stays may not.
//
// Those that were freed before the plan went on are brief: an evaluation's activations, while training waits
// for its end. They may borrow any place that is free, however soon the plan needs it.
//
// Sizes are taken together by quarters of octaves, since such requests differ from one iteration to the
// next. A size that did not come yet is taken for brief where all that came within an octave of it were.
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
  enum class Life : std::uint8_t { kUnknown, kBrief, kShort, kLasting };

  UnplannedLives();
  /// Notes a request that no plan knows, the window's `ordinal`th (from 0, ascending). How long all those of
  /// about this size lived so far: at most until the plan went on, or within their iterations.
  Life of(Bytes bytes, std::uint64_t ordinal) noexcept;
  /// A window ends, which had `requests` requests; ordinals begin again.
  void on_mark(std::uint64_t requests) noexcept;
  /// What was allocated in the window that ended last. More allocations of a size that outlived it than in
  /// the iterations of any of `plans`: some that no plan knows did. Where other requests were recorded than
  /// were served, none is taken for brief. O(lives + entries).
  void learn(const std::vector<RequestLife>& lives, const std::vector<Plan>& plans);

 private:
  static constexpr std::size_t kClasses = 256;
  static constexpr std::size_t kMostRuns = 1024;  ///< in one window
  struct Run {
    std::uint64_t begin, end;
  };
  using Counts = std::array<std::uint32_t, kClasses>;
  using Flags = std::array<bool, kClasses>;
  struct Window {
    std::vector<Run> runs;   ///< of requests that no plan knows, one behind the other
    Flags has{};             ///< such requests, by class
    std::uint64_t requests;  ///< of all kinds
  };

  static std::size_t class_of(Bytes bytes) noexcept;
  static Counts crossing_at_most(const std::vector<Plan>& plans);
  [[nodiscard]] Life like(std::size_t unknown) const noexcept;
  [[nodiscard]] Flags outlived_runs(const std::vector<RequestLife>& lives) const;

  std::array<Life, kClasses> lives_{};
  Window now_, last_;
};

}  // namespace stowage::allocator
