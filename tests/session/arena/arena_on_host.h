// An arena on host memory that plans are served from, without a session.
#pragma once

#include <chrono>
#include <memory>

#include "session/arena/served_arena.h"
#include "session/rescue/lasting_memory.h"
#include "session/reserved/reserved_guard.h"
#include "tests/session/fake_port.h"

namespace stowage::session {

inline constexpr StreamId kStream{0};
inline constexpr std::uint64_t kBlock = 64 << 10;
inline constexpr std::uint64_t kPage = 2 << 20;  ///< the least segment of an arena

/// `blocks` requests of `bytes`, one beside the other.
inline Plan plan_of(std::uint64_t blocks, std::uint64_t bytes = kBlock) {
  Plan plan;
  Fingerprint requests;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    plan.entries.push_back({Bytes(bytes), kStream, Offset(i * bytes), kUpstream});
    requests.add(Bytes(bytes), kStream);
  }
  plan.fingerprint = requests.value();
  plan.height = plan.lower_bound = Bytes(blocks * bytes);
  return plan;
}
/// The same as what a search for plans finds.
inline JointPlan joint_of(std::uint64_t blocks, std::uint64_t bytes = kBlock) {
  JointPlan plans;
  plans.plans = {plan_of(blocks, bytes)};
  plans.height = plans.lower_bound = plans.plans.front().height;
  return plans;
}

struct ArenaOnHost {
  /// Under a budget that is a limit: `limit` bytes.
  void limit(std::uint64_t bytes) {
    port.counted = port.on_touch = true;
    port.count.set_limit(Bytes(bytes));
    budget = std::make_unique<BudgetController>(*Budget::parse("1GiB"), &port.count, no_torch(), Device{},
                                                Bytes(0), std::chrono::milliseconds(0));
    make();
  }
  void make(Fault fault = Fault::kNone) {
    arena = std::make_unique<ServedArena>(hot, port, *budget, fault);
    lasting = std::make_unique<LastingMemory>(*budget, port, no_torch(), Device{});
  }
  void* allocate(std::uint64_t bytes = kBlock) {
    if (allocator::PlannedAllocator* now = hot.serving.load()) return now->allocate(Bytes(bytes), kStream);
    if (allocator::PlannedAllocator* now = arena->settling())
      return arena->allocate_settling(*now, Bytes(bytes), kStream);
    return nullptr;
  }
  void free(void* address) const { arena->owner_of(address)->free(address); }

  FakePort port;
  SessionHot hot;
  std::unique_ptr<BudgetController> budget = std::make_unique<BudgetController>(
      Budget(), nullptr, no_torch(), Device{}, Bytes(0), std::chrono::milliseconds(0));
  std::unique_ptr<ServedArena> arena = std::make_unique<ServedArena>(hot, port, *budget, Fault::kNone);
  std::unique_ptr<LastingMemory> lasting =
      std::make_unique<LastingMemory>(*budget, port, no_torch(), Device{});
};

/// The same for a job that needs `kNeed` bytes without a plan, and a guard that knows so.
struct GuardedArena : ArenaOnHost {
  static constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  static constexpr Bytes kNeed{100 * kMib};

  GuardedArena() {
    port.caches = true;
    port.give_back(port.allocate(kNeed));
    facts.note_before(port.upstream_use(), 0);
    port.release_upstream_cache();
  }

  TraceInfo info;
  SessionFacts facts;
  ReservedGuard guard{port, info, *budget, *arena, facts};
};

}  // namespace stowage::session
