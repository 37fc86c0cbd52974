// Whether a job is better off with its plan than without: arena and upstream together reserve no more than
// it needs (reserved_guard.h), and memory does not move back and forth between them (device_room.h).
//
// Thread safety: the conductor's.
#pragma once

#include "session/arena/served_arena.h"
#include "session/plans/plan_book.h"
#include "session/reserved/device_room.h"
#include "session/reserved/reserved_guard.h"
#include "session/states/session_verdict.h"

namespace stowage::session {

class PlanWorth {
 public:
  /// All must outlive it.
  PlanWorth(ServedArena& arena, PlanBook& plans, ReservedGuard& guard, DeviceRoom& room)
      : arena_(arena), plans_(plans), guard_(guard), room_(room) {}

  /// kOff if following `plans` would reserve too much.
  [[nodiscard]] SessionVerdict refuse(const JointPlan& plans) const;
  /// A first plan is in use.
  void begin() { guard_.begin(); }
  /// Plans were added or left: counts iterations from 0 again.
  void restart();
  /// An iteration ended. `clean`: every request was the plan's. kRecording: another plan may do better. kOff:
  /// none will.
  SessionVerdict on_iteration(bool clean);

 private:
  [[nodiscard]] bool may_improve() const;
  SessionVerdict leave_oversized(bool clean);

  ServedArena& arena_;
  PlanBook& plans_;
  ReservedGuard& guard_;
  DeviceRoom& room_;
};

}  // namespace stowage::session
