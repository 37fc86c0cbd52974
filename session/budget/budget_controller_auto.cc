// BudgetController: "auto", which takes effect once the job has nearly filled its device.
#include <algorithm>
#include <exception>
#include <optional>
#include <string>

#include "session/budget/budget_controller.h"
#include "session/ports/device_port.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr std::uint32_t kCalmMarks = 4;     // the optimizer's state is born at the end of the first
constexpr std::uint64_t kCalmFillings = 8;  // of the device, by all that upstream gives out

}  // namespace

void BudgetController::arm() {
  if (device_.kind == DeviceKind::kCpu)
    return refuse(
        "it is for devices that say how much memory is free; on the CPU write 80%device, or an amount");
  if (ledger_ != nullptr && port_ != nullptr && device_memory_.value() != 0)
    state_.change(State::kArmed, "the device is not full yet");
}

bool BudgetController::nears_end(Bytes bytes) noexcept try {
  if (!is_armed() || !watch_.on_alloc(bytes)) return false;
  if (!free_where_near()) return false;
  near_ = true;
  return true;
} catch (const std::exception&) {  // a device that does not answer now does later
  return false;
}

// What the device has free, if the job has nearly filled it.
std::optional<Bytes> BudgetController::free_where_near() {
  const std::optional<Bytes> free = port_->free_memory();
  return free && watch_.is_near(held_on_device(), *free) ? free : std::nullopt;
}

// Counting upstream's bytes costs each of its requests a little, so it begins when they matter.
Bytes BudgetController::held_on_device() const {
  return counts_ ? ledger_->held() : ledger_->held() + port_->upstream_use().reserved;
}

bool BudgetController::join() {
  near_ = false;
  if (!is_armed()) return false;
  const std::optional<Bytes> free = free_where_near();
  if (!free) return false;
  if (port_->is_read_by_address())
    return disarm("a captured graph or another process reads the job's memory by address");
  port_->count_upstream();
  counts_ = true;
  if (Status joined = torch_.join_rescue(port_->finish_work()); !joined)
    return disarm(joined.error().message);
  evictions_at_mark_ = unplanned_evictions();
  calm_marks_ = 0;
  calm_bytes_ = 0;
  shortages_at_join_ = shortages_.load();
  joined_at_ = marks_;
  state_.change(State::kWatching, "the device is nearly full");
  ++joins_;
  set_limit(DeviceWatch::limit_of(ledger_->held(), *free));
  return true;
}

bool BudgetController::watches_calm() const noexcept {
  return budget_.is_auto() && state_.load(std::memory_order_relaxed) == State::kWatching && !was_short();
}

// A forward pass with large workspaces gives out as much, and has not shown its peak yet.
bool BudgetController::may_leave(Bytes bytes, bool shows_peak) noexcept {
  if (!watches_calm()) return false;
  const std::uint64_t given = calm_bytes_.fetch_add(bytes.value(), std::memory_order_relaxed) + bytes.value();
  if (!shows_peak || given / kCalmFillings < ledger_->limit().value()) return false;
  calm_bytes_.store(0, std::memory_order_relaxed);
  leaves_ = true;
  return true;
}

// A second call of between_ops() may come for the device that was nearly full when the first one joined.
void BudgetController::leave() {
  if (!leaves_.exchange(false)) return;
  const bool watches = budget_.is_auto() && state_.load() == State::kWatching;
  if (watches && !was_short() && !schedule_.follows() && is_idle()) stand_down();
}

// Nobody asked for it, so this is no warning.
bool BudgetController::disarm(const std::string& why) {
  state_.change(State::kNone, why);
  note(1, to_string(device_) + " is nearly full, and nothing can be evicted: " + why);
  return false;
}

void BudgetController::stand_down_where_calm(bool evicted) {
  if (state_.load() != State::kWatching) return;
  calm_marks_ = evicted || schedule_.follows() ? 0 : calm_marks_ + 1;
  if (calm_marks_ >= kCalmMarks && may_rest()) stand_down();
}

void BudgetController::stand_down() {
  end_runtime();
  watch_.note_fitting(ledger_->peak_held());
  ledger_->lift_limit();
  torch_.note_limit(Bytes(0), device_);
  state_.change(State::kArmed, "whole iterations fit");
  note(1, "the job fits into the device: at most " + std::to_string(ledger_->peak_held().value()) +
              " bytes; nothing is evicted any more");
}

// The one line of an "auto" that the user sees without having asked.
void BudgetController::note_shortage() noexcept {
  if (shortages_.fetch_add(1, std::memory_order_relaxed) != 0 || !budget_.is_auto()) return;
  note(0, to_string(device_) +
              " is full: from now on tensors are evicted, and recomputed or copied back, so that "
              "the job goes on; the report says what that costs (STOWAGE_BUDGET=none turns it off)");
}

}  // namespace stowage::session
