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
    [](Bytes, Device) { return false; },
    [](Bytes, Device, const FreeSpace&) { return false; },
    [](const Shortage&, Device) { return std::string(); },
    [] { return RuntimeCounters(); },
    [](std::int64_t, std::uint64_t) {},
    [] {},
    [] { return std::optional<Result<StepLog>>(); },
    [](const Schedule&) { return Status(); },
    [] {},
    [] { return FollowCounters(); }};

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
