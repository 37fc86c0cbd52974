// A job that follows a plan in an arena on host memory, and what listens to its iterations, without a
// session.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "session/plans/plan_book.h"
#include "session/recording/learner.h"
#include "session/recording/recording.h"
#include "session/reserved/device_room.h"
#include "tests/session/arena/arena_on_host.h"
#include "tests/session/plans/scripted_plans.h"

namespace stowage::session {

struct PlannedJob : GuardedArena {
  PlannedJob() { recording.start(true); }
  ~PlannedJob() { recording.stop(); }

  /// The arena serves `plan`, the only one in use.
  void follow(const Plan& plan) {
    ASSERT_TRUE(arena->serve({plan}).ok());
    plans.use(joint_of({plan}));
    arena->resume();
  }
  /// A request, served upstream where it is off the plan.
  void* request(std::uint64_t bytes = kBlock) {
    allocator::PlannedAllocator* const now = hot.serving.load();
    void* address = now == nullptr ? nullptr : now->allocate(Bytes(bytes), kStream);
    if (address == nullptr) address = port.allocate(Bytes(bytes));
    if (tracer::Recorder* const recorder = hot.recorder.load())
      recorder->on_alloc(address, Bytes(bytes), round_up(Bytes(bytes)), kStream);
    return address;
  }
  void release(void* address) {
    if (tracer::Recorder* const recorder = hot.recorder.load()) recorder->on_free(address);
    if (allocator::PlannedAllocator* const owner = arena->owner_of(address)) return owner->free(address);
    port.give_back(address);
  }
  /// Requests of these sizes, all alive at once.
  void request_all(const std::vector<std::uint64_t>& sizes) {
    std::vector<void*> live;
    for (const std::uint64_t size : sizes) live.push_back(request(size));
    for (void* const address : live) release(address);
  }

  Settings settings;
  Recording recording{hot.recorder, port, no_torch(), info, settings};
  Learner learner{recording};
  Asked asked;
  PlanBook plans{settings, info, std::make_unique<ScriptedPlans>(asked)};
  DeviceRoom room{port, *arena, guard};
};

}  // namespace stowage::session
