#include "plugin/cuda/device/memory_history.h"

#include <torch/csrc/profiler/combined_traceback.h>

#include <algorithm>
#include <limits>
#include <stack>
#include <utility>

#include "plugin/cuda/upstream/upstream_limit.h"

namespace stowage::plugin {
namespace {

using Event = MemoryHistory::Event;

std::stack<std::string>& compile_contexts() {
  thread_local std::stack<std::string> contexts;
  return contexts;
}

std::shared_ptr<c10::GatheredContext> gather_python_frames() {
  return torch::CapturedTraceback::gather(/*python=*/true, /*script=*/true, /*cpp=*/false);
}

}  // namespace

MemoryHistory::MemoryHistory(Upstream& upstream, std::function<void()> watch)
    : upstream_(upstream), watch_(std::move(watch)) {}

// Once for all devices: upstream cannot remove a tracker.
void MemoryHistory::listen_to_upstream() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(listening_, true)) return;
  }
  upstream_.attachAllocatorTraceTracker([this](const Event& event) { on_upstream(event); });
}

void MemoryHistory::record(bool enabled, CreateContext recorder, std::size_t max_entries, RecordContext when,
                           bool clear, const std::vector<std::string>& skip_actions) {
  const std::lock_guard changing(setting_);
  std::unordered_set<Event::Action> skipped;
  for (const std::string& action : skip_actions)
    skipped.insert(c10::CachingDeviceAllocator::parseTraceEntryAction(action));
  upstream_.recordHistory(enabled, recorder, max_entries, when, clear, skip_actions);
  if (enabled) listen_to_upstream();
  {
    const std::lock_guard lock(mutex_);
    recording_ = enabled;
    ever_recorded_ |= enabled;
    recorder_ = enabled ? recorder : nullptr;
    level_ = enabled ? when : RecordContext::NEVER;
    max_entries_ = std::max<std::size_t>(1, max_entries);
    skipped_ = std::move(skipped);
    if (!enabled || clear) events_.clear(), before_.clear();
    update_watching();
  }
  watch_();
}

void MemoryHistory::take_over() {
  const std::lock_guard changing(setting_);
  {
    const std::lock_guard lock(mutex_);
    if (ever_recorded_ || !upstream_.initialized() || !upstream_.isHistoryEnabled()) return;
  }
  std::vector<std::vector<Event>> traces = upstream_.snapshot({0, 0}, true).device_traces;
  listen_to_upstream();
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t device = 0; device < traces.size(); ++device)
      before_[static_cast<c10::DeviceIndex>(device)] = std::move(traces[device]);
    recording_ = ever_recorded_ = true;
    recorder_ = &gather_python_frames;
    level_ = RecordContext::ALL;
    max_entries_ = std::numeric_limits<std::size_t>::max();
    update_watching();
  }
  watch_();
}

void MemoryHistory::add_tracker(Tracker tracker) {
  const std::lock_guard changing(setting_);
  listen_to_upstream();
  {
    const std::lock_guard lock(mutex_);
    trackers_.push_back(std::move(tracker));
    update_watching();
  }
  watch_();
}

void MemoryHistory::update_watching() {
  watching_.store(recording_ || !trackers_.empty() || !blocks_.empty(), std::memory_order_relaxed);
}

MemoryHistory::Context MemoryHistory::gather(RecordContext level) const {
  const CreateContext recorder = recorder_.load();
  return level_.load() < level || recorder == nullptr ? nullptr : recorder();
}

void MemoryHistory::tell(const Event& event) {
  for (const Tracker& tracker : trackers_) tracker(event);
  if (!recording_ || skipped_.contains(event.action_)) return;
  std::deque<Event>& events = events_[event.device_];
  events.push_back(event);
  while (events.size() > max_entries_) events.pop_front();
}

MemoryHistory::Labels MemoryHistory::labels() const {
  return {compile_contexts().empty() ? "N/A" : compile_contexts().top(), upstream_.getUserMetadata()};
}

Event MemoryHistory::event_of(Event::Action action, c10::DeviceIndex device, const void* address,
                              const Block& block, const Context& context, const Labels& labels) const {
  Context gathered;
  if (level_.load() >= RecordContext::ALLOC) gathered = context ? context : block.context;
  return {action,
          device,
          reinterpret_cast<std::size_t>(address),
          block.requested.value(),
          block.stream,
          {0, 0},
          c10::getApproximateTime(),
          std::move(gathered),
          labels.compile_context,
          labels.user_metadata};
}

// Hides out-of-memory errors that a retry may still resolve.
void MemoryHistory::on_upstream(const Event& event) {
  if (event.action_ == Event::OOM && NotTheEnd::depth() != 0) return;
  const std::lock_guard lock(mutex_);
  tell(event);
}

void MemoryHistory::on_alloc(c10::DeviceIndex device, const void* address, Bytes requested, void* stream) {
  Block block{requested, stream, gather(RecordContext::STATE), nullptr};
  const Labels said = labels();
  const std::lock_guard lock(mutex_);
  tell(event_of(Event::ALLOC, device, address, block, nullptr, said));
  if (recording_ || !trackers_.empty()) blocks_[address] = std::move(block);
}

void MemoryHistory::on_free_requested(c10::DeviceIndex device, const void* address, Bytes requested,
                                      void* stream) {
  const Context context = gather(RecordContext::ALL);
  const Labels said = labels();
  const std::lock_guard lock(mutex_);
  Block& block = blocks_[address];
  block.requested = requested;
  block.stream = stream;
  block.freed = context;
  tell(event_of(Event::FREE_REQUESTED, device, address, block, context, said));
}

void MemoryHistory::on_free_completed(c10::DeviceIndex device, const void* address, bool late) {
  const Context finding = late ? gather(RecordContext::ALL) : nullptr;
  const Labels said = labels();
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return;  // its free was requested before watching began
    const Block& block = found->second;
    tell(event_of(Event::FREE_COMPLETED, device, address, block, late ? finding : block.freed, said));
    blocks_.erase(found);
    if (recording_ || !trackers_.empty() || !blocks_.empty()) return;
    update_watching();
  }
  watch_();
}

void MemoryHistory::on_segment(Event::Action action, c10::DeviceIndex device, const void* address,
                               Bytes bytes) {
  if (!is_watching() || bytes == Bytes{0}) return;
  const Event event =
      event_of(action, device, address, Block{bytes, nullptr, nullptr, nullptr}, nullptr, labels());
  const std::lock_guard lock(mutex_);
  tell(event);
}

void MemoryHistory::push_compile_context(const std::string& context) { compile_contexts().push(context); }

void MemoryHistory::pop_compile_context() {
  if (!compile_contexts().empty()) compile_contexts().pop();
}

std::vector<std::vector<Event>> MemoryHistory::entries() {
  const auto to_ns = clock_.makeConverter();
  std::vector<std::vector<Event>> entries;
  const std::lock_guard lock(mutex_);
  for (const auto& [device, before] : before_) {
    entries.resize(std::max(entries.size(), static_cast<std::size_t>(device) + 1));
    entries[static_cast<std::size_t>(device)] = before;
  }
  for (const auto& [device, events] : events_) {
    entries.resize(std::max(entries.size(), static_cast<std::size_t>(device) + 1));
    for (const Event& event : events) {
      Event& shown = entries[static_cast<std::size_t>(device)].emplace_back(event);
      shown.time_.t_ = to_ns(event.time_.approx_t_) / 1000;
    }
  }
  return entries;
}

MemoryHistory::Context MemoryHistory::context_of(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? nullptr : found->second.context;
}

}  // namespace stowage::plugin
