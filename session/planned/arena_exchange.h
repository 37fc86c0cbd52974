// Replaces the arena if tensors outlive their places in it (outstayed_watch.h): the plan moves to a new
// arena, and the old one keeps only the segments that these tensors occupy. Not if those segments would
// exceed what the job needs, or a budget. Under a budget only memory that is committed on touch can be
// exchanged: of other arenas whole pages stay, and are counted. It moves sooner there, since rescue evicts
// for each request that finds its place in use; plans around these tensors, which take no other arena, come
// first if they are made in time.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "session/arena/served_arena.h"
#include "session/budget/budget_controller.h"
#include "session/facts/session_facts.h"
#include "session/planned/outstayed_watch.h"
#include "session/plans/plan_book.h"
#include "session/ports/device_port.h"
#include "session/reserved/device_room.h"
#include "session/reserved/reserved_guard.h"

namespace stowage::session {

class ArenaExchange {
 public:
  /// Iterations in a row under a budget that find places in use, and that wait for plans around what stays.
  static constexpr std::uint64_t kPatienceUnderBudget = 3;
  static constexpr std::uint64_t kWaitUnderBudget = 4;

  /// All must outlive it.
  ArenaExchange(DevicePort& port, const BudgetController& budget, ServedArena& arena, PlanBook& plans,
                ReservedGuard& guard, DeviceRoom& room, SessionFacts& facts)
      : port_(port),
        budget_(budget),
        arena_(arena),
        plans_(plans),
        guard_(guard),
        room_(room),
        facts_(facts) {}

  /// A first plan is in use.
  void begin() { reserved_clean_ = Bytes(0); }
  /// The arena or its plans have changed.
  void restart() {
    outstayed_.restart();
    hurried_.restart();
    misses_ = 0;
    due_for_ = 0;
  }

  enum class Outcome : std::uint8_t {
    kNone,
    kExchanged,  ///< the arena is empty or new; it hands nothing out until resume()
    kTooLarge,   ///< the budget has no room for another one: excess() bytes are missing
    kFailed      ///< there is no arena for the plans any more
  };
  /// An iteration ended. `reserved`: by arena and upstream together in it; `clean`: all of it was planned.
  Outcome on_iteration(bool clean, Bytes reserved);
  [[nodiscard]] Bytes excess() const { return excess_; }
  /// The exchanged arena serves. Requires: kExchanged.
  void resume();

 private:
  [[nodiscard]] bool is_due();
  [[nodiscard]] bool may_exchange() const;
  [[nodiscard]] Bytes pinned_pages() const;
  /// Bytes that a budget lacks for another arena beside what stays of this one.
  [[nodiscard]] Bytes lacking() const;
  Outcome exchange();

  DevicePort& port_;
  const BudgetController& budget_;
  ServedArena& arena_;
  PlanBook& plans_;
  ReservedGuard& guard_;
  DeviceRoom& room_;
  SessionFacts& facts_;
  OutstayedWatch outstayed_;
  OutstayedWatch hurried_{kPatienceUnderBudget};  ///< under a budget
  std::uint64_t misses_ = 0;                      ///< when the last iteration ended
  std::uint64_t due_for_ = 0;                     ///< iterations
  Bytes reserved_clean_{0};  ///< by arena and upstream in the last iteration without a miss
  Bytes excess_{0};
  bool is_another_ = false;  ///< the old arena became a former one
};

}  // namespace stowage::session
