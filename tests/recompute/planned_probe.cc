// Schedules and their follower behind a few C functions, and a CPU allocator whose books are exact: it counts
// what was asked for, rounded up as in a plan, and holds a limit by rescue.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "planner/schedule/check/validator.h"
#include "planner/schedule/scheduler.h"
#include "recompute/planned.h"
#include "recompute/recompute.h"

namespace {

using namespace stowage;
using namespace stowage::recompute;

class Ledger final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return upstream_->allocate(0);
    const std::uint64_t taken = round_up(Bytes(bytes)).value();
    const std::uint64_t limit = limit_;
    while (limit > 0 && held_ + taken > limit) {
      const std::uint64_t missing = held_ + taken - limit;
      if (Runtime::make_room(Bytes(missing), 0)) continue;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "stowage: ",
                       Runtime::explain_shortage({.wanted = Bytes(bytes), .held = Bytes(held_)}, 0));
    }
    c10::DataPtr data = upstream_->allocate(bytes);
    void* const address = data.release_context();
    note(address, taken);
    return {address, address, &give_back, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  void install() {
    if (upstream_ != nullptr) return;
    upstream_ = c10::GetAllocator(c10::kCPU);
    c10::SetAllocator(c10::kCPU, this, 2);
  }
  static Ledger& instance() {
    static auto* const one = new Ledger;
    return *one;
  }

  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::uint64_t> peak_{0};
  std::atomic<std::uint64_t> limit_{0};

 private:
  void note(void* address, std::uint64_t taken) {
    const std::lock_guard<std::mutex> lock(mutex_);
    taken_[address] = taken;
    held_ += taken;
    if (peak_ < held_) peak_ = held_.load();
    Planned::note_memory(static_cast<std::int64_t>(taken), held_);
  }
  static void give_back(void* address) {
    if (address == nullptr) return;
    Ledger& all = instance();
    {
      const std::lock_guard<std::mutex> lock(all.mutex_);
      const auto at = all.taken_.find(address);
      all.held_ -= at->second;
      Planned::note_memory(-static_cast<std::int64_t>(at->second), all.held_);
      all.taken_.erase(at);
    }
    all.upstream_->raw_deleter()(address);
  }

  c10::Allocator* upstream_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<void*, std::uint64_t> taken_;
};

std::string text;
StepLog step_log;
Schedule schedule;

}  // namespace

#define PROBE extern "C" __attribute__((visibility("default")))

/// From now on CPU tensors come from the ledger. `limit` 0: none.
PROBE void ledger_limit(unsigned long long limit) {
  Ledger::instance().install();
  Ledger::instance().limit_ = limit;
}
PROBE unsigned long long ledger_held() { return Ledger::instance().held_; }
PROBE unsigned long long ledger_peak(int reset) {
  Ledger& all = Ledger::instance();
  const std::uint64_t peak = all.peak_;
  if (reset != 0) all.peak_ = all.held_.load();
  return peak;
}

PROBE const char* planned_text() { return text.c_str(); }
PROBE void planned_record_next() { Planned::record_next(); }
/// 0 if there is a log now; `into`: its ops, what buffers there are, bytes at its peak, bytes that may go.
PROBE int planned_take_log(unsigned long long* into) {
  auto log = Planned::take_log();
  if (!log || !log->ok()) {
    text = log ? log->error().message : "no iteration was recorded";
    return 1;
  }
  step_log = std::move(log->value());
  Schedule nothing;
  nothing.shape_hashes = step_log.shape_hashes;
  const auto verdict = planner::schedule::validate_schedule(step_log, nothing, kMaxTotal);
  into[0] = step_log.trace.ops.size();
  into[1] = step_log.trace.buffers.size();
  into[2] = verdict.ok() ? verdict->peak.value() : 0;
  into[3] = 0;
  for (std::size_t i = 0; i < step_log.stays.size(); ++i) {
    if (step_log.stays[i] == Stay::kMayGo) into[3] += step_log.trace.buffers[i].rounded.value();
  }
  return 0;
}
/// 0 if there is a schedule now; `into`: its actions, replays, ns of these, peak, height and copies.
PROBE int planned_make(unsigned long long budget, unsigned long long smallest, int placed,
                       unsigned long long* into) {
  planner::schedule::ScheduleOptions options;
  options.smallest = Bytes(smallest);
  options.placed = placed != 0;
  options.work_limit = 100'000'000;
  const auto made = planner::schedule::make_schedule(step_log, Bytes(budget), options);
  if (!made.ok()) {
    text = made.error().message;
    return 1;
  }
  schedule = *made;
  const auto early = std::ranges::count_if(schedule.actions, [](const Action& action) {
    return action.kind == ActionKind::kStore || action.kind == ActionKind::kPrefetch;
  });
  const unsigned long long all[] = {schedule.actions.size(),
                                    schedule.replays,
                                    schedule.replay_ns,
                                    schedule.peak.value(),
                                    schedule.height.value(),
                                    schedule.copies,
                                    static_cast<unsigned long long>(early)};
  std::copy(std::begin(all), std::end(all), into);
  return 0;
}
/// A schedule that is for other ops from op `at` on.
PROBE void planned_spoil(unsigned long long at) {
  for (; at < schedule.shape_hashes.size(); ++at) ++schedule.shape_hashes[at];
}
PROBE int planned_follow() {
  const Status status = Planned::follow(schedule);
  if (!status.ok()) text = status.error().message;
  return status.ok() ? 0 : 1;
}
PROBE void planned_leave() { Planned::leave(); }
/// iterations, resynced, left, evictions, refused.
PROBE void planned_counts(unsigned long long* into) {
  const FollowCounters counts = Planned::counts();
  const unsigned long long all[] = {counts.iterations, counts.resynced, counts.left, counts.evictions,
                                    counts.refused};
  std::copy(std::begin(all), std::end(all), into);
}
