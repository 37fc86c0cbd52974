// The beginning of a job that an earlier run has planned: its first iterations, which come once
// (planner/kinds/opening.h). Tells when they are over, and whether the job follows them at all.
//
// A job may not: its command is the same, but its data or its code is not. Then its plans are left early,
// within a few hundred requests or at the first mark, and it is recorded as if they had not been there.
// Improvised requests are off the plan here: what a beginning allocates lasts. Displaced ones, which found
// their place in use, are not where all but a few came in the plan's order: another thread freed a tensor
// later than in the run before, and one large tensor may displace hundreds of small ones.
//
// Thread safety: is_on() from any thread; on_request() from any thread while it is on; the rest is the
// conductor's.
#pragma once

#include <atomic>
#include <cstdint>

#include "session/arena/served_arena.h"
#include "session/settings/settings.h"

namespace stowage::session {

class OpeningPhase {
 public:
  static constexpr std::uint64_t kRequestsPerLook = 64;
  static constexpr std::uint64_t kLeastRequests = 128;  ///< before the first mark; a few are always different

  /// Both must outlive it.
  OpeningPhase(const Settings& settings, const ServedArena& arena) : settings_(settings), arena_(arena) {}

  /// The arena serves the plans of `iterations` iterations, one after the other, and then others.
  void begin(std::uint32_t iterations);
  void end() { on_.store(false, std::memory_order_release); }
  /// More of the requests so far than a few were off the plan or displaced.
  [[nodiscard]] bool fits_roughly() const;
  /// Iterations that ended since begin().
  [[nodiscard]] std::uint32_t ended() const { return ended_; }
  [[nodiscard]] bool is_on() const noexcept { return on_.load(std::memory_order_acquire); }

  /// A request came. True: most of the iteration's requests so far are off its plan. Quick, nearly always.
  [[nodiscard]] bool leaves_at_request();
  enum class Verdict : std::uint8_t {
    kGoOn,
    kOver,  ///< from now on the job repeats itself
    kUnfit  ///< the job does not follow it
  };
  /// An iteration ended.
  Verdict on_iteration();

 private:
  struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t off_plan = 0;   ///< of these
    std::uint64_t displaced = 0;  ///< of these
    /// More than `share` of the requests do not follow the plan.
    [[nodiscard]] bool exceed(double share) const;
  };
  [[nodiscard]] Counts count() const;
  [[nodiscard]] Counts count_since() const;
  void begin_iteration();

  const Settings& settings_;
  const ServedArena& arena_;
  std::atomic<bool> on_{false};
  /// Serves the opening. Never destroyed (ServedArena).
  std::atomic<const allocator::PlannedAllocator*> serving_{nullptr};
  std::atomic<std::uint64_t> looks_{0};  ///< requests since begin()
  std::uint32_t iterations_ = 0;
  std::uint32_t ended_ = 0;
  Counts sum_;  ///< of these
  /// When the present iteration began.
  std::atomic<std::uint64_t> requests_before_{0}, off_plan_before_{0}, displaced_before_{0};
};

}  // namespace stowage::session
