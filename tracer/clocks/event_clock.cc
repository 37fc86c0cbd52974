#include "tracer/clocks/event_clock.h"

#include <utility>

namespace stowage::tracer {

EventClock::EventClock(c10::Device device, const c10::impl::DeviceGuardImplInterface* guard,
                       std::size_t max_pending)
    : device_(device), guard_(guard), max_pending_(max_pending) {}

EventClock::~EventClock() {
  for (const Pending& pending : pending_) {
    guard_->destroyEvent(pending.before, device_.index());
    guard_->destroyEvent(pending.after, device_.index());
  }
  for (void* event : free_) guard_->destroyEvent(event, device_.index());
}

StartedOp EventClock::start() { return {.event = record_now()}; }

void EventClock::stop(const StartedOp& started, OpId op) {
  if (started.event == nullptr) return;
  void* const after = op == kNoOp ? nullptr : record_now();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (after == nullptr || pending_.size() >= max_pending_) {
    free_.push_back(started.event);
    if (after != nullptr) free_.push_back(after);
  } else {
    pending_.push_back({op, started.event, after});
  }
}

ClockReading EventClock::read(bool may_wait) {
  if (may_wait) wait_for_device();
  std::deque<Pending> waiting;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting.swap(pending_);
  }
  ClockReading reading;
  std::deque<Pending> not_yet;
  for (const Pending& pending : waiting) {
    if (!has_passed(pending)) {
      not_yet.push_back(pending);
      continue;
    }
    if (const std::optional<std::uint64_t> duration_ns = elapsed_ns(pending))
      reading.ops.push_back({pending.op, *duration_ns, TimeSource::kEvents, {}});
    give_back(pending.before);
    give_back(pending.after);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_.insert(pending_.begin(), not_yet.begin(), not_yet.end());
  return reading;
}

// A device that fails is reported to the job by its own next call.
void EventClock::wait_for_device() const {
  try {
    guard_->synchronizeDevice(device_.index());
  } catch (...) {
  }
}

// An event recorded on the calling thread's current stream; null when the device refuses.
void* EventClock::record_now() {
  void* event = take_event();
  try {
    guard_->record(&event, guard_->getStream(device_), device_.index(), c10::EventFlag::BACKEND_DEFAULT);
    return event;
  } catch (...) {
    if (event != nullptr) give_back(event);
    return nullptr;
  }
}

// Null when the pool is empty: recording makes one then.
void* EventClock::take_event() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) return nullptr;
  void* const event = free_.back();
  free_.pop_back();
  return event;
}

void EventClock::give_back(void* event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(event);
}

// A failing query counts as passed: such an op is given up, not waited for.
bool EventClock::has_passed(const Pending& pending) const {
  try {
    return guard_->queryEvent(pending.after);
  } catch (...) {
    return true;
  }
}

std::optional<std::uint64_t> EventClock::elapsed_ns(const Pending& pending) const {
  try {
    return static_cast<std::uint64_t>(guard_->elapsedTime(pending.before, pending.after, device_.index()) *
                                      1e6);
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace stowage::tracer
