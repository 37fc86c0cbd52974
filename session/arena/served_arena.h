// The arena that plans are served from: its memory, the allocator on top of it, former arenas in which
// tensors still live, and how it finds room under a budget.
//
// At a switch upstream still holds what the last iteration left, for which the arena has places too. If the
// budget cannot hold both, the arena *settles*: it is counted block by block, as the job uses it
// (charged_parts.h); a device that commits memory page by page takes its pages then. Within an iteration or
// two upstream's part is gone and the arena is counted as a whole.
//
// Thread safety: exists(), owner_of(), the bytes of all arenas, settling() and allocate_settling() from any
// thread; the rest is the conductor's. The hot
// path has bare pointers to allocators (session_hot.h), so those are never destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/planned_allocator.h"
#include "core/support/extremes.h"
#include "session/arena/charged_parts.h"
#include "session/arena/retirable_arena.h"
#include "session/arena/session_hot.h"
#include "session/budget/budget_controller.h"
#include "session/ports/device_port.h"
#include "session/settings/settings.h"

namespace stowage::session {

class ServedArena {
 public:
  /// `hot`, `port` and `budget` must outlive it. `fault`: Fault::kArena makes mapping fail.
  ServedArena(SessionHot& hot, DevicePort& port, const BudgetController& budget, Fault fault)
      : hot_(hot), port_(port), budget_(budget), fault_(fault) {}

  /// An arena exists, whether it serves requests or not.
  [[nodiscard]] bool exists() const { return hot_.owner.load(std::memory_order_acquire) != nullptr; }
  /// The allocator of the present arena, or of the last one. Requires: there was one.
  [[nodiscard]] allocator::PlannedAllocator& allocator() const { return *allocators_.back(); }
  /// Requires: exists().
  [[nodiscard]] Bytes mapped() const { return arena_->mapped(); }
  /// Frees of its blocks, or of former arenas', wait for other streams.
  [[nodiscard]] bool awaits_frees() const { return hot_.uses.any_in_arena(); }
  /// Some of its addresses have no memory.
  [[nodiscard]] bool lacks_memory() const { return allocator().committed_bytes() < mapped(); }
  /// The allocator whose arena `address` lies in, former ones included, or null.
  [[nodiscard]] allocator::PlannedAllocator* owner_of(const void* address) const noexcept;
  /// Bytes of all arenas: committed, and live.
  [[nodiscard]] Bytes committed_bytes() const;
  [[nodiscard]] Bytes live_bytes() const;
  /// Peak of arena and upstream together since the arena's peaks were reset; 0 without an arena.
  [[nodiscard]] Bytes peak_bytes() const;
  /// What tensors hold outside the present arena.
  [[nodiscard]] Bytes outside_bytes(const UpstreamUse& use) const;
  /// The same without what the last iteration passed on and `plans` have places for.
  [[nodiscard]] Bytes staying_outside(const JointPlan& plans) const;
  /// What the ledger counts outside the present arena at an iteration's end, once all that `plans` have
  /// places for lies in it. `lasting`: bytes of what stays in it for good. Requires: exists(), and a ledger.
  [[nodiscard]] Bytes counted_outside(const JointPlan& plans, Bytes lasting) const;

  /// Maps an arena for `plans`, or lets the present one serve them. resume() hands out addresses. False: not
  /// now, since the device must not be waited for. Error: no memory or no room in the budget; or tensors of
  /// the old plan live in the present arena, and it cannot become a former one.
  Result<bool> serve(const std::vector<Plan>& plans);
  /// Maps an arena for all of `plans`, as serve(). Requires: not exists().
  Status map_for(const std::vector<Plan>& plans);
  /// Maps an arena that is served without plans and takes memory as the job needs it, probably `expected`
  /// bytes. resume() hands out addresses. Error: as serve(), or the device's arenas cannot grow. Requires: no
  /// budget.
  Status serve_online(Bytes expected);
  /// Hands out nothing until resume().
  void pause();
  void resume();
  /// Drops the plans: not even a late caller gets an address. False: it has pinned plans.
  bool shut_out();
  /// From now on every allocation checks that the arena has memory for it; with false, none does.
  void watch_memory(bool watched) { hot_.thin.store(watched, std::memory_order_relaxed); }
  /// Plans or memory changed: allocations check whether the arena has memory for them if some has none.
  void note_memory();

  /// From now on requests and frees are told to the port (DevicePort::on_arena_use); with false, none is.
  void meter(bool metered);

  /// The allocator that serves while the arena settles, or null.
  [[nodiscard]] allocator::PlannedAllocator* settling() const {
    return settling_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool settles() const {
    return settling_.load(std::memory_order_relaxed) != nullptr ||
           (lacks_pages_.load(std::memory_order_relaxed) &&
            hot_.serving.load(std::memory_order_relaxed) != nullptr);
  }
  /// An address of `now`, which settling() returned, if the budget has room for the block.
  void* allocate_settling(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream);
  /// Counts the arena as a whole. False: the budget has no room for that, and it keeps settling.
  bool count_whole();
  /// An iteration ended while it settles. Returns for how many in a row.
  std::uint64_t count_settling() { return ++settling_marks_; }
  [[nodiscard]] bool settled_before() const { return settling_marks_ > 0; }
  /// Counts it block by block again from now on, if it serves and memory is committed on touch.
  void settle_again();
  /// Maps memory for plans of this height, which is counted block by block. Requires: it is committed on
  /// touch. Error: no addresses are left.
  Status grow_settling(Bytes height);
  /// Bytes that the ledger lacks for the whole arena.
  [[nodiscard]] Bytes missing() const { return port_.ledger()->missing(mapped() - arena_->charged()); }
  /// A page that a request needs does not fit, whatever upstream and the arena can spare.
  void note_shortage() { lower_to(shortage_, missing().value()); }
  /// The least of missing() at these times, since it served or was last counted as a whole; 0: never.
  [[nodiscard]] Bytes shortage() const {
    const std::uint64_t least = shortage_.load(std::memory_order_relaxed);
    return Bytes(least == kNoShortage ? 0 : least);
  }

  /// What it gives up costs less than recomputation: memory that is committed on touch, or pages of an arena
  /// that does not have all of them anyway.
  [[nodiscard]] bool gives_quickly() const { return port_.commits_on_touch() || settles(); }
  /// Gives unused parts back to the device and stops counting them, as long as these are less than `most`;
  /// parts in use stay in place. May wait for the device. Returns the bytes given back. Requires: exists().
  Bytes give_up_free_parts(Bytes most = Bytes::max());
  /// Gives the arena back if it does not serve; keeps what is live in it. Waits for the device.
  void give_back();
  /// Gives idle memory of the arena back, page by page, even while it serves. Waits for the device.
  void give_back_idle();
  /// Turns an arena with live tensors into a former one, which keeps only the segments that they occupy and
  /// serves no more requests. False, and it stays: the budget forbids it, or there are too many. Requires:
  /// the device can be waited for.
  bool part_with();
  /// Gives back former arenas' memory that no tensor occupies. Waits for the device, so it skips most marks
  /// while frees wait for other streams, which may be done soon.
  void shrink_former();
  void shrink_former_now();

  /// In a forked child.
  void after_fork() noexcept;

 private:
  [[nodiscard]] bool blocks_its_plans() const;
  Status make_way();
  void own(std::unique_ptr<RetirableArena> arena, const std::vector<Plan>& plans, Bytes expected = Bytes(0));
  Result<std::unique_ptr<RetirableArena>> map_retirable(Bytes height, allocator::Backing backing);

  SessionHot& hot_;
  DevicePort& port_;
  const BudgetController& budget_;
  const Fault fault_;
  /// Set instead of `serving`: hands out an address only if the ledger can count it.
  std::atomic<allocator::PlannedAllocator*> settling_{nullptr};
  static constexpr std::uint64_t kNoShortage = Bytes::max().value();
  std::atomic<std::uint64_t> shortage_{kNoShortage};
  std::atomic<bool> lacks_pages_{false};  ///< under a budget: it has no memory yet, or no more, for a part
  ChargedParts parts_;
  std::vector<std::unique_ptr<allocator::PlannedAllocator>> allocators_;  ///< the last one may be in use
  RetirableArena* arena_ = nullptr;   ///< of the last one; null when there is none
  std::uint64_t settling_marks_ = 0;  ///< iterations in a row for which it is not counted as a whole
  std::uint64_t marks_let_pass_ = 0;  ///< since former arenas gave memory back
};

}  // namespace stowage::session
