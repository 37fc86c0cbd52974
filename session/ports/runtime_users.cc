#include "session/ports/runtime_users.h"

#include <utility>

namespace stowage::session {

RuntimeUsers::RuntimeUsers(std::function<Status()> install, std::function<void()> uninstall)
    : install_(std::move(install)), uninstall_(std::move(uninstall)) {}

void RuntimeUsers::set_guard_placer(GuardPlacer placer) { placer_.store(placer, std::memory_order_release); }

bool RuntimeUsers::guards_are_known() const { return placer_.load(std::memory_order_acquire) != nullptr; }

Status RuntimeUsers::begin() {
  const GuardPlacer place = placer_.load(std::memory_order_acquire);
  if (place == nullptr || place(1) != 0)
    return Error{ErrorCode::kUnsupported, "Python's guards for evicted tensors cannot be placed"};
  Status begun = add();
  place(begun ? 2 : 0);
  return begun;
}

Status RuntimeUsers::add() {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) {
    if (Status installed = install_(); !installed) return installed;
  }
  ++count_;
  return {};
}

void RuntimeUsers::end() {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == 1) uninstall_();
    --count_;
  }
  placer_.load(std::memory_order_acquire)(0);
}

}  // namespace stowage::session
