#include "recompute/call/op_call.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/support/clock.h"
#include "recompute/recipe/modelled_cost.h"
#include "recompute/threads/suspension.h"

namespace stowage::recompute {
namespace {

constexpr std::uint32_t kTries = 100;  // of a recomputation beside ops of other threads
constexpr std::chrono::milliseconds kRetryAfter{1};

}  // namespace

OpCall::OpCall(const OpTraits& traits, Below below)
    : machine_(machine()), thread_(this_thread()), traits_(traits), below_(below) {}

OpCall::~OpCall() {
  thread_.op = outer_op_;
  if (ended_) return;
  const std::lock_guard<std::recursive_mutex> lock(machine_.mutex);
  recipe_.reset();  // the op failed: the content of what it was to write is unknown
  machine_.draws.end(draw_);
  if (begun_) {
    count_running(-1);
    renew_written();
  }
  machine_.steps.fail_op(step_);
  unlock();
}

void OpCall::unlock() {
  for (const Use& use : uses_) {
    if (!use.unread()) --use.record->locks;
  }
  for (const Part& part : parts_) --part.record->locks;
  uses_.clear();
  parts_.clear();
}

void OpCall::begin(c10::ArrayRef<c10::IValue> arguments) {
  thread_.op = traits_.name.c_str();
  if (machine_.asks_source.load(std::memory_order_relaxed))
    verification_ = std::make_unique<Verification>(std::make_shared<const SourceLine>(SourceLine::here()));
  std::unique_lock<std::recursive_mutex> lock(machine_.mutex);
  ++machine_.op_number;
  ++machine_.counters.ops;
  if (machine_.steps.on()) {
    hash_.emplace(traits_, arguments);
    step_ = machine_.steps.before_op(*hash_);
  }
  machine_.residency.spares().keep_more(!machine_.steps.follower().follows());
  for (std::uint32_t tries = 1; !prepare(arguments, tries); ++tries) {
    lock.unlock();
    std::this_thread::sleep_for(kRetryAfter);
    lock.lock();
  }
  if (machine_.steps.wants_arguments()) note_begin();
  if (verification_ != nullptr) begin_check();
  machine_.forced.before_op();
  begun_ = true;
  count_running(1);
  thread_.op_bytes = 0;
  machine_.steps.start_timing(step_);
  aside_ns_ = machine_.residency.counts().aside_ns();
  started_ns_ = now_ns();
}

// What the op of another thread holds comes free when it ends, and it cannot end while this thread has the
// lock. So where recomputation runs short beside it, what is locked and half made is given up: false, to be
// called again.
bool OpCall::prepare(c10::ArrayRef<c10::IValue> arguments, std::uint32_t tries) {
  const bool may_wait = tries < kTries && machine_.running_ops > thread_.running_ops;
  const Deeper may_fail(thread_.may_fail, may_wait);
  try {
    prepare(arguments);
  } catch (const c10::OutOfMemoryError&) {
    if (!may_wait) throw;
    recipe_.reset();
    machine_.draws.end(draw_);
    draw_ = {};
    unlock();
    hidden_ = false;
    depth_ = 0;
    return false;
  }
  return true;
}

void OpCall::prepare(c10::ArrayRef<c10::IValue> arguments) {
  read_arguments(arguments);
  bring_back();
  pin_what_is_unsafe();
  if (traits_.random) begin_draw(arguments);
  if (may_record()) make_recipe(arguments);
  announce_writes();
}

void OpCall::count_running(int by) {
  machine_.running_ops += by;
  thread_.running_ops += by;
}

// For the log of this iteration.
void OpCall::note_begin() {
  c10::SmallVector<StepRecorder::Argument, 6> arguments;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i].unread() || is_written_by_another(i)) continue;
    const bool kept = recipe_ && recipe_->inputs[i].captured != nullptr;
    const ValueRole role = uses_[i].role == Role::kOverwritten ? ValueRole::kReplaced
                           : uses_[i].role == Role::kWritten   ? ValueRole::kChanged
                           : kept                              ? ValueRole::kKept
                                                               : ValueRole::kRead;
    arguments.push_back({uses_[i].record, role});
  }
  machine_.steps.begin_op(step_, traits_, {arguments.data(), arguments.size()});
}

void OpCall::bring_back() {
  for (const Use& use : uses_) {
    if (use.unread()) continue;
    machine_.residency.restore(*use.record);
    machine_.uses.note(*use.record, machine_.op_number);
  }
  for (const Part& part : parts_) machine_.residency.restore(*part.record);
}

// What unseen code may go on reading, or may write later, stays.
void OpCall::pin_what_is_unsafe() {
  const bool hides = hidden_ && below_ != Below::kOps;
  const bool unsafe =
      !traits_.trusted || traits_.resizes || traits_.routes || hides || thread_.opaque > 0 || suspended();
  if (!unsafe) return;
  const bool collective = traits_.name.compare(0, 6, "c10d::") == 0;
  for (const Use& use : uses_) {
    if (use.unread()) continue;
    use.record->pinned = true;
    if (collective) use.record->exposed = true;
  }
}

void OpCall::announce_writes() {
  for (const Use& use : uses_) {
    if (use.written) machine_.residency.before_write(*use.record, machine_.steps.follower().follows());
  }
  for (const Part& part : parts_) {
    if (part.written) machine_.residency.before_write(*part.record, machine_.steps.follower().follows());
  }
  for (const Use& use : uses_) {
    if (use.written) use.record->current->write = WriteState::kClosing;
  }
  for (const Part& part : parts_) {
    if (part.written) part.record->current->write = WriteState::kClosing;
  }
}

// What the thrash guard counts the op with: on CUDA what its size or, without a recipe, its launch costs.
std::uint64_t OpCall::guard_cost_ns(std::uint64_t took_ns) const {
  if (recipe_) return recipe_->signature->cuda ? recipe_->signature->cost_ns() : took_ns;
  const bool cuda = std::any_of(uses_.begin(), uses_.end(), [](const Use& use) {
    return use.record->alive() && use.record->address->device_type() == c10::kCUDA;
  });
  return cuda ? kLaunchNs : took_ns;
}

void OpCall::end(c10::ArrayRef<c10::IValue> results) {
  const std::uint64_t took_ns = now_ns() - started_ns_;
  {
    const std::lock_guard<std::recursive_mutex> lock(machine_.mutex);
    finish(results, took_ns);
  }
  machine_.findings.tell_all();
}

// `took_ns`: with what the runtime did meanwhile.
void OpCall::finish(c10::ArrayRef<c10::IValue> results, std::uint64_t took_ns) {
  took_ns -= std::min(took_ns, machine_.residency.counts().aside_ns() - aside_ns_);
  ended_ = true;
  machine_.steps.stop_timing(step_);
  count_running(-1);
  thread_.op_bytes = 0;
  const bool own = below_ != Below::kOps && traits_.trusted;  // else its time is that of the ops it called
  if (own) machine_.counters.ops_ns += took_ns;
  machine_.draws.end(draw_);
  if (recipe_ && recipe_->random && !draw_.alone) recipe_.reset();
  add_results(results);
  if (recipe_) {
    std::uint64_t made_bytes = 0;
    for (const StorageRecord* const record : made_) made_bytes += record->bytes;
    recipe_->signature->note_cost(took_ns, made_bytes);
    ++machine_.counters.recorded;
  }
  if (own) machine_.thrash_guard.note_ops(guard_cost_ns(took_ns));
  renew_written();
  if (machine_.steps.on()) {
    const std::uint64_t costs_ns = recipe_ ? recipe_->signature->cost_ns() : took_ns;
    const bool modelled = recipe_ && recipe_->signature->cuda;
    machine_.steps.end_op(step_, costs_ns, modelled ? TimeSource::kModel : TimeSource::kHost,
                          {made_.data(), made_.size()});
  }
  if (hidden_ && below_ != Below::kOps) {
    for (const Use& use : uses_) use.record->pinned = use.record->pinned || !use.unread();
  }
  if (verification_ != nullptr) end_check(results);
  recipe_.reset();  // under the lock
  unlock();
  if (thread_.replaying == 0) machine_.tick(made_.size());
}

}  // namespace stowage::recompute
