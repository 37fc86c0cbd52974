// Limits that count work first and time second, so that a plan is the same on every machine.
//
// Thread safety: a WorkMeter belongs to one thread; what it watches (stop token, race) may change from any
// thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace stowage::planner::placement {

/// Steps that several solves may take together. They count where they look at their limits, so what is taken
/// between two looks comes on top. Thread safety: any thread.
class SharedWork {
 public:
  explicit SharedWork(std::uint64_t most) : most_(most) {}
  /// False once all are taken.
  bool take(std::uint64_t steps) {
    return taken_.fetch_add(steps, std::memory_order_relaxed) + steps < most_;
  }

 private:
  const std::uint64_t most_;
  std::atomic<std::uint64_t> taken_{0};
};

/// What ends a solve early. Only `work_limit` keeps the result reproducible; the others are for
/// emergencies.
struct Limits {
  std::uint64_t work_limit = 400'000'000;  ///< placed items looked at; about 1 ns each
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  SharedWork* shared = nullptr;  ///< with other solves, as a deadline is; null: none
  std::stop_token stop;
  /// Called at each look at the stop token, from any thread, with the work counted since the last one by the
  /// member that looks, so that tests and benchmarks can see how far apart looks are. May be empty.
  std::function<void(std::uint64_t)> on_look;

  [[nodiscard]] bool stopped(std::uint64_t work = 0) const {
    if (on_look) on_look(work);
    return stop.stop_requested();
  }
  [[nodiscard]] bool over(std::uint64_t work = 0) const {
    return stopped(work) || (shared != nullptr && !shared->take(work)) ||
           (deadline != std::chrono::steady_clock::time_point::max() &&
            std::chrono::steady_clock::now() >= deadline);
  }
};

/// The rank of the best-ranked member of a portfolio that reached the bound. Members ranked after it may
/// stop: it wins over what they find. Members before it continue, so the winner does not depend on who ran
/// first.
using Race = std::atomic<std::uint32_t>;

/// Counts one member's work against its share and says when to stop.
class WorkMeter {
 public:
  /// Units, some 0.1 ms: cancellation is well within 20 ms.
  static constexpr std::uint64_t kLookEvery = 1u << 17;

  /// Requires: limits and race outlive the meter. `rank` is the member's place in the race.
  WorkMeter(const Limits& limits, std::uint64_t share, const Race& race, std::uint32_t rank)
      : limits_(&limits), race_(&race), rank_(rank), share_(share) {}

  /// Adds `units`; false when the member must stop, and from then on.
  bool spend(std::uint64_t units) {
    used_ += units;
    if (used_ >= next_look_) look();
    return !out_;
  }
  /// Checks the limits now and counts nothing: for steps that take long with a million pieces. Returns as
  /// spend().
  bool look_now() {
    if (!out_) look();
    return !out_;
  }
  /// Adds what another meter has counted, which checked the limits itself; then as spend().
  bool add(const WorkMeter& other) {
    used_ += other.used_;
    looked_ += other.used_;
    look();
    return !out_;
  }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] bool out() const { return out_; }
  [[nodiscard]] const Limits& limits() const { return *limits_; }

 private:
  void look() {
    next_look_ = std::min(used_ + kLookEvery, std::max(share_, used_ + 1));
    out_ = out_ || used_ >= share_ || race_->load(std::memory_order_relaxed) < rank_ ||
           limits_->over(used_ - looked_);
    looked_ = used_;
  }

  const Limits* limits_;
  const Race* race_;
  std::uint32_t rank_;
  std::uint64_t share_;
  std::uint64_t used_ = 0;
  std::uint64_t next_look_ = 0;
  std::uint64_t looked_ = 0;  ///< `used_` at the last look
  bool out_ = false;
};

}  // namespace stowage::planner::placement
