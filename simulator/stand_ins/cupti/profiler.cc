#include "simulator/stand_ins/cupti/profiler.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "simulator/device/machine.h"
#include "simulator/stand_ins/cupti/faults.h"

namespace stowage::simulator {
namespace {

constexpr std::size_t kKinds = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1;
constexpr std::size_t kManyPending = 512;

// The calling thread's ids, by kind, and CUPTI's time when its call began.
struct ThreadRecords {
  std::array<std::vector<std::uint64_t>, kKinds> ids;
  std::uint64_t call_began = 0;
};
ThreadRecords& this_thread() {
  thread_local ThreadRecords records;
  return records;
}

VirtualNs host_now() {
  Machine& machine = Machine::get();
  const std::lock_guard<std::mutex> guard(machine.lock);
  return machine.timeline.host_ns();
}

VirtualNs end_of(const Work& work) { return work.end; }
VirtualNs end_of(const Wait& wait) { return wait.end; }
VirtualNs end_of(const MemoryOperation& operation) { return operation.at; }

}  // namespace

Profiler& Profiler::get() {
  static auto* const profiler = new Profiler;  // calls come until the process ends
  return *profiler;
}

void Profiler::enable(CUpti_ActivityKind kind, bool enabled) {
  if (static_cast<std::size_t>(kind) >= enabled_.size()) return;
  const VirtualNs now = host_now();
  clock.begin(now);
  clock.anchor(now, clock.now(now));
  enabled_[static_cast<std::size_t>(kind)].store(enabled);
  listen_if_wanted();
}

void Profiler::listen_if_wanted() {
  const bool any = std::any_of(enabled_.begin(), enabled_.end(), [](const auto& one) { return one.load(); });
  set_activity_sink(any || callbacks.any() ? this : nullptr);
}

void Profiler::mute(ApiDomain domain, std::uint32_t id, bool muted) {
  const std::lock_guard lock(mutex_);
  muted ? void(muted_.insert({domain, id})) : void(muted_.erase({domain, id}));
}

void Profiler::push(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  if (static_cast<std::size_t>(kind) < kKinds) this_thread().ids[kind].push_back(id);
}

bool Profiler::pop(CUpti_ExternalCorrelationKind kind, std::uint64_t& last) {
  if (static_cast<std::size_t>(kind) >= kKinds || this_thread().ids[kind].empty()) return false;
  last = this_thread().ids[kind].back();
  this_thread().ids[kind].pop_back();
  return true;
}

void Profiler::detach() {
  set_activity_sink(nullptr);
  for (auto& kind : enabled_) kind.store(false);
  callbacks.unsubscribe();
  const std::lock_guard lock(mutex_);
  pending_.clear();
  muted_.clear();
}

// ---- what happens

// Ids have gaps, as the real library's do.
void Profiler::begin_call(ApiCall& call) {
  call.correlation = last_correlation_.fetch_add(2) + 2;
  if (callbacks.any()) callbacks.tell(call, CUPTI_API_ENTER);
  this_thread().call_began = clock.now(host_now());
}

void Profiler::end_call(const ApiCall& call, VirtualNs, VirtualNs end) {
  const std::uint64_t stamp = clock.now(end);
  clock.anchor(end, stamp);
  const bool runtime = call.domain == ApiDomain::kRuntime;
  const bool wanted = wants(runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER);
  std::vector<RawRecord> records;
  bool many = false;
  {
    const std::lock_guard lock(mutex_);
    many = pending_.size() >= kManyPending;
    if (wanted && !muted_.contains({call.domain, call.id})) {
      add_externals(call, records);
      const auto thread = system_thread_ids_.load() ? static_cast<std::uint32_t>(gettid())
                                                    : static_cast<std::uint32_t>(pthread_self());
      records.push_back(call_record(call, this_thread().call_began, stamp, thread));
    }
  }
  write(std::move(records));
  if (many) write(take_complete(end, false));
  if (callbacks.any()) callbacks.tell(call, CUPTI_API_EXIT);
}

// One record for each kind of which the thread has an id.
void Profiler::add_externals(const ApiCall& call, std::vector<RawRecord>& records) const {
  if (!wants(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const std::vector<std::uint64_t>& ids = this_thread().ids[kind];
    if (!ids.empty())
      records.push_back(
          external_record(static_cast<CUpti_ExternalCorrelationKind>(kind), ids.back(), call.correlation));
  }
}

void Profiler::add_pending(CUpti_ActivityKind kind, const Pending& pending) {
  const bool serial = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && wants(CUPTI_ACTIVITY_KIND_KERNEL);
  if (!wants(kind) && !serial) return;
  const std::lock_guard lock(mutex_);
  pending_.push_back(pending);
}

void Profiler::add(const Work& work) { add_pending(kind_of(work), work); }
void Profiler::add(const Wait& wait) { add_pending(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, wait); }
void Profiler::add(const MemoryOperation& operation) { add_pending(CUPTI_ACTIVITY_KIND_MEMORY2, operation); }

// ---- records

RawRecord Profiler::record_of(const Work& work, VirtualNs now) {
  std::uint64_t begin = clock.at(work.begin);
  std::uint64_t end = work.end <= now ? clock.at(work.end) : 0;
  if (work.kind == WorkKind::kKernel && cupti_faults().strikes(CuptiFault::kUntimed)) begin = end = 0;
  if (work.kind == WorkKind::kKernel && cupti_faults().strikes(CuptiFault::kReversed)) std::swap(begin, end);
  return work_record(work, begin, end);
}

RawRecord Profiler::record_of(const Pending& pending, VirtualNs now) {
  if (const auto* const work = std::get_if<Work>(&pending)) return record_of(*work, now);
  if (const auto* const wait = std::get_if<Wait>(&pending))
    return wait_record(*wait, clock.at(wait->begin), clock.at(wait->end));
  const auto& operation = std::get<MemoryOperation>(pending);
  return memory_record(operation, clock.at(operation.at));
}

std::vector<RawRecord> Profiler::take_complete(VirtualNs now, bool forced) {
  std::vector<Pending> taken;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [&](const Pending& pending) {
      const bool complete = std::visit([](const auto& one) { return end_of(one); }, pending) <= now;
      if (complete || forced) taken.push_back(pending);
      return complete || forced;
    });
  }
  std::vector<RawRecord> records;
  for (const Pending& pending : taken) records.push_back(record_of(pending, now));
  return records;
}

void Profiler::write(std::vector<RawRecord> records) {
  for (const RawRecord& record : records) {
    buffers.write({&record, 1});
    if (cupti_faults().strikes(CuptiFault::kUnknown)) {
      const RawRecord unknown = unknown_record();
      buffers.write({&unknown, 1});
    }
  }
}

void Profiler::flush(bool forced) {
  const VirtualNs now = host_now();
  clock.anchor(now, clock.now(now));
  write(take_complete(now, forced));
  buffers.flush();
}

}  // namespace stowage::simulator
