// Counts and limits what a device's tensors hold, in PyTorch's allocator and in the arena together.
//
// There are two ways to hold upstream to the limit. Where we hand out upstream's memory piece by piece
// (CPU), callers count bytes before they allocate and uncount them after they free, so the count is never
// too low. With try_take the limit is exact for any number of threads: a request gets all of its bytes or
// none. Where upstream takes device memory by itself (CUDA), UpstreamCap tells it how much it may take: the
// limit minus the arena. The arena's bytes are counted before they are mapped.
//
// A limit may be set while more than that is held. Then nothing is added, and the limit is *met* once frees
// bring the count down to it: from then on it is never exceeded.
// Thread safety: every member, from any thread; locks only around UpstreamCap. Each figure is exact by
// itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/support/extremes.h"
#include "core/units.h"

namespace stowage::session {

/// Limits an upstream that takes memory from the device by itself.
class UpstreamCap {
 public:
  UpstreamCap() = default;
  UpstreamCap(const UpstreamCap&) = delete;
  UpstreamCap& operator=(const UpstreamCap&) = delete;
  virtual ~UpstreamCap() = default;
  /// Upstream takes no more than `most` from now on; nothing: no limit of ours. It gives unused memory above
  /// that back to the device; memory in use stays.
  virtual void cap(std::optional<Bytes> most) noexcept = 0;
};

class Ledger {
 public:
  /// `upstream` reports what it takes and gives back, by take() and give(); null: the allocating caller does.
  explicit Ledger(UpstreamCap* upstream = nullptr) : upstream_cap_(upstream) {}

  /// Counts bytes that are held already, regardless of the limit.
  void take(Bytes bytes) noexcept { note_peaks(held_.fetch_add(bytes.value()) + bytes.value()); }
  /// Counts bytes held since before counting began: a limit that they exceed is no longer met.
  void take_found(Bytes bytes) noexcept {
    take(bytes);
    if (limited() && held_.load() > limit_.load()) unmet_.store(true);
  }
  /// Counts them if they fit. settle() updates the peak.
  [[nodiscard]] bool try_take(Bytes bytes) noexcept {
    std::uint64_t held = held_.load();
    do {
      if (held + bytes.value() > limit_.load(std::memory_order_relaxed)) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes.value()));
    return true;
  }
  /// The request got `real` bytes instead of the counted `taken`.
  void settle(Bytes taken, Bytes real) noexcept {
    note_peaks(held_.fetch_add(real.value() - taken.value()) + real.value() - taken.value());
  }
  void give(Bytes bytes) noexcept {
    held_.fetch_sub(bytes.value());
    meet();
  }

  /// The same for the arena's bytes, before they are mapped and after they were given back.
  [[nodiscard]] bool try_take_arena(Bytes bytes) noexcept {
    arena_.fetch_add(bytes.value());
    cap_upstream();  // first, so that upstream cannot take the free memory meanwhile
    if (!try_take(bytes)) {
      arena_.fetch_sub(bytes.value());
      cap_upstream();
      return false;
    }
    note_peaks(held_.load());
    return true;
  }
  void give_arena(Bytes bytes) noexcept {
    held_.fetch_sub(bytes.value());
    arena_.fetch_sub(bytes.value());
    cap_upstream();
    meet();
  }

  [[nodiscard]] Bytes held() const noexcept { return Bytes(held_.load()); }
  [[nodiscard]] Bytes upstream() const noexcept {
    const std::uint64_t arena = arena_.load();
    return Bytes(std::max(held_.load(), arena) - arena);
  }
  /// What tensors hold in the arena: as of the last mark, or exactly while an iteration is logged.
  void note_in_arena(Bytes bytes) noexcept { in_arena_.store(static_cast<std::int64_t>(bytes.value())); }
  void add_in_arena(std::int64_t delta) noexcept { in_arena_.fetch_add(delta); }
  [[nodiscard]] Bytes in_arena() const noexcept {
    return Bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(in_arena_.load(), 0)));
  }
  /// held(), with what tensors hold in the arena in place of the arena.
  [[nodiscard]] Bytes in_tensors() const noexcept { return upstream() + in_arena(); }
  /// Peak of held() since the limit was met, or overall if it is not; and overall peak of upstream().
  [[nodiscard]] Bytes peak_held() const noexcept { return Bytes(peak_held_.load()); }
  [[nodiscard]] Bytes peak_upstream() const noexcept { return Bytes(peak_upstream_.load()); }

  /// An iteration ends: the next one's peak begins with what is held now.
  void end_iteration() noexcept {
    const std::uint64_t peak = peak_in_iteration_.exchange(held_.load());
    last_iteration_peak_.store(std::max(peak, held_.load()));
  }
  /// Peak of held() in the last iteration that ended.
  [[nodiscard]] Bytes last_iteration_peak() const noexcept { return Bytes(last_iteration_peak_.load()); }

  /// From now on try_take refuses what would exceed `limit`. What is held already stays.
  void set_limit(Bytes limit) noexcept {
    if (!met() || held() > limit) unmet_.store(true);
    limit_.store(limit.value());
    cap_upstream();
    meet();
  }
  /// Makes upstream give back unused memory above the limit.
  void trim() noexcept { cap_upstream(); }
  void lift_limit() noexcept {
    unmet_.store(false);
    if (limit_.exchange(kNoLimit) != kNoLimit && upstream_cap_ != nullptr) upstream_cap_->cap(std::nullopt);
  }
  /// As lift_limit, in a forked child: does not tell upstream.
  void forget_limit() noexcept { limit_.store(kNoLimit); }
  [[nodiscard]] bool limited() const noexcept { return limit_.load(std::memory_order_relaxed) != kNoLimit; }
  [[nodiscard]] Bytes limit() const noexcept { return Bytes(limit_.load()); }
  /// There is a limit, and no more is held than it allows.
  [[nodiscard]] bool met() const noexcept { return limited() && !unmet_.load(std::memory_order_relaxed); }
  /// Bytes that must be freed so that another `bytes` fit; 0: they fit.
  [[nodiscard]] Bytes missing(Bytes bytes) const noexcept {
    const std::uint64_t limit = limit_.load();
    return Bytes(std::max(held_.load() + bytes.value(), limit) - limit);
  }

 private:
  static constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 63;

  void cap_upstream() noexcept {
    if (upstream_cap_ == nullptr || !limited()) return;
    const std::lock_guard lock(capping_);  // the last call sees all changes
    const std::uint64_t limit = limit_.load();
    upstream_cap_->cap(Bytes(limit - std::min(limit, arena_.load())));
  }
  void meet() noexcept {
    if (!unmet_.load(std::memory_order_relaxed)) [[likely]]
      return;
    if (limited() && held_.load() <= limit_.load() && unmet_.exchange(false)) peak_held_.store(held_.load());
  }
  void note_peaks(std::uint64_t held) noexcept {
    const std::uint64_t arena = arena_.load(std::memory_order_relaxed);
    raise_to(peak_held_, held);
    raise_to(peak_in_iteration_, held);
    raise_to(peak_upstream_, std::max(held, arena) - arena);
  }

  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::int64_t> in_arena_{0};
  std::atomic<std::uint64_t> arena_{0};  ///< of these
  std::atomic<std::uint64_t> limit_{kNoLimit};
  std::atomic<bool> unmet_{false};  ///< a limit was set, and more was held ever since
  std::atomic<std::uint64_t> peak_held_{0};
  std::atomic<std::uint64_t> peak_upstream_{0};
  std::atomic<std::uint64_t> peak_in_iteration_{0};
  std::atomic<std::uint64_t> last_iteration_peak_{0};
  UpstreamCap* const upstream_cap_;
  std::mutex capping_;
};

}  // namespace stowage::session
