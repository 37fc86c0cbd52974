#include "session/budget/rescue.h"

#include <atomic>
#include <mutex>

namespace stowage::plugin {
namespace {

constexpr RescueDriver kNone{
    [] {
      return Status(Error{ErrorCode::kUnsupported, "this build has no runtime to hold a budget with"});
    },
    [] {},
    [] {},
    [](Bytes, DevicePlace) { return false; },
    [](Bytes, DevicePlace, const FreeSpace&) { return false; },
    [](const Shortage&, DevicePlace) { return std::string(); },
    [] { return RescueCounts(); },
    [](std::int64_t, std::uint64_t) {},
    [] {},
    [] { return std::optional<Result<StepLog>>(); },
    [](const Schedule&) { return Status(); },
    [] {},
    [] { return FollowCounts(); }};

std::atomic<const RescueDriver*> current{&kNone};
std::atomic<GuardPlacer> guards{nullptr};

struct Users {
  std::mutex mutex;
  int count = 0;
};

Users& users() {
  static auto* const instance = new Users;
  return *instance;
}

Status add_user() {
  const std::lock_guard lock(users().mutex);
  if (users().count == 0) {
    if (Status installed = rescue_driver().install(); !installed) return installed;
  }
  ++users().count;
  return {};
}

}  // namespace

RescueCounts operator+(const RescueCounts& a, const RescueCounts& b) {
  return {a.ops + b.ops,
          a.evictions + b.evictions,
          a.restores + b.restores,
          a.replays + b.replays,
          a.ops_ns + b.ops_ns,
          a.replay_ns + b.replay_ns,
          a.search_ns + b.search_ns,
          a.rooms + b.rooms,
          a.evicted + b.evicted,
          a.evicted_total + b.evicted_total};
}

void set_rescue_driver(const RescueDriver* driver) {
  current.store(driver == nullptr ? &kNone : driver, std::memory_order_release);
}
const RescueDriver& rescue_driver() { return *current.load(std::memory_order_acquire); }

void set_guard_placer(GuardPlacer placer) { guards.store(placer, std::memory_order_release); }
bool guards_are_known() { return guards.load(std::memory_order_acquire) != nullptr; }

// Python is called without our lock: it waits for the interpreter, which another caller may hold.
Status begin_rescue() {
  const GuardPlacer place = guards.load(std::memory_order_acquire);
  if (place == nullptr || place(1) != 0)
    return Error{ErrorCode::kUnsupported, "Python's guards for evicted tensors cannot be placed"};
  Status begun = add_user();
  if (!begun) {
    place(0);
  } else {
    place(2);
  }
  return begun;
}

void end_rescue() {
  {
    const std::lock_guard lock(users().mutex);
    if (users().count == 1) rescue_driver().uninstall();
    --users().count;
  }
  guards.load(std::memory_order_acquire)(0);
}

}  // namespace stowage::plugin
