#include "tracer/recorder/op_book.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace stowage::tracer {
namespace {

constexpr std::uint32_t kUnassigned = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kIdModulus =
    std::numeric_limits<std::uint32_t>::max();  // kNoOp itself is never given

struct Step {
  Tick tick;
  bool birth;
  std::uint64_t bytes;
};

// Peak of the bytes of the buffers from `first` on that `thread` made and that are dead by now.
Bytes workspace_since(const Log<Buffer>& log, std::uint64_t first, std::uint32_t thread) {
  std::vector<Step> steps;
  for (std::uint64_t i = std::max(first, log.begin()); i < log.end(); ++i) {
    const Buffer& buffer = log[i];
    if (buffer.thread != thread || buffer.death == kNever) continue;
    steps.push_back({buffer.birth, true, buffer.rounded.value()});
    steps.push_back({buffer.death, false, buffer.rounded.value()});
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.tick < b.tick; });
  std::uint64_t now = 0;
  std::uint64_t peak = 0;
  for (const Step& step : steps) {
    now = step.birth ? now + step.bytes : now - step.bytes;
    peak = std::max(peak, now);
  }
  return Bytes(peak);
}

}  // namespace

std::uint32_t process_thread_index() {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

std::uint32_t OpBook::thread_ordinal() {
  const std::uint32_t index = process_thread_index();
  if (index >= ordinals_.size()) ordinals_.resize(index + 1, kUnassigned);
  if (ordinals_[index] == kUnassigned) {
    ordinals_[index] = static_cast<std::uint32_t>(threads_.size());
    threads_.emplace_back();
  }
  return ordinals_[index];
}

OpId OpBook::current(std::uint32_t thread) const {
  return threads_[thread].empty() ? kNoOp : threads_[thread].back().id;
}

OpId OpBook::enter(std::uint32_t thread, Tick tick, std::uint64_t next_buffer) {
  Op op;
  op.thread = thread;
  op.parent = current(thread);
  op.begin = tick;
  const OpId id(static_cast<std::uint32_t>(ops_.end() % kIdModulus));
  ops_.push(op);
  threads_[thread].push_back({id, next_buffer});
  return id;
}

void OpBook::leave(std::uint32_t thread, OpId id, const OpRecord& record, Tick tick, BufferBook& buffers) {
  const std::uint64_t first_buffer = pop(thread, id);
  const std::uint64_t number = number_of(id);
  if (number == kGone) return;
  Op& op = ops_[number];
  op.name = intern(record.name);
  op.flags = record.flags;
  op.stream = record.stream;
  op.begin_ns = record.begin_ns;
  op.end_ns = record.end_ns;
  if (!record.timed_by_device) {  // at least 1, as 0 means that it is not known
    op.duration_ns = std::max<std::uint64_t>(record.end_ns - record.begin_ns, 1);
    op.timed_by = TimeSource::kHost;
  }
  op.end = tick;
  op.workspace = workspace_since(buffers.log(), first_buffer, op.thread);
  op.first_value = static_cast<std::uint32_t>(values_.end());
  op.input_count = store(record.inputs, tick, buffers);
  op.output_count = store(record.outputs, tick, buffers);
}

void OpBook::leave_unrecorded(std::uint32_t thread, OpId id) { pop(thread, id); }

void OpBook::set_times(const OpTimes& times) {
  const std::uint64_t number = number_of(times.op);
  if (number == kGone) return;
  ops_[number].duration_ns = times.duration_ns;
  ops_[number].timed_by = times.source;
  if (times.source == TimeSource::kCupti) on_device_[number] = times.on_device;
}

OpOnDevice OpBook::on_device(std::uint64_t number) const {
  const auto found = on_device_.find(number);
  return found == on_device_.end() ? OpOnDevice() : found->second;
}

// Leaves `id` and all that was entered after it. Returns the first buffer inside it; "none yet" when it is
// not open here.
std::uint64_t OpBook::pop(std::uint32_t thread, OpId id) {
  std::vector<Open>& open = threads_[thread];
  for (std::size_t i = open.size(); i-- > 0;) {
    if (open[i].id != id) continue;
    const std::uint64_t first_buffer = open[i].first_buffer;
    open.resize(i);
    return first_buffer;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

std::uint32_t OpBook::store(std::span<const OpRecord::Use> uses, Tick tick, BufferBook& buffers) {
  std::uint32_t stored = 0;
  for (const OpRecord::Use& use : uses) {
    const std::uint64_t key = buffers.resolve(use.storage, use.bytes, tick);
    if (key == BufferBook::kNoKey) continue;
    values_.push({key, use.version});
    ++stored;
  }
  return stored;
}

std::uint32_t OpBook::intern(std::string_view name) {
  if (const auto found = name_ids_.find(name); found != name_ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  name_ids_.emplace(names_.back(), id);
  return id;
}

void OpBook::forget_before(std::uint64_t op, std::uint64_t value) {
  ops_.forget_before(op);
  std::erase_if(on_device_, [&](const auto& entry) { return entry.first < op; });
  values_.forget_before(value);
}

std::uint64_t OpBook::number_of(OpId id) const {
  if (id == kNoOp) return kGone;
  const std::uint64_t oldest = ops_.begin() % kIdModulus;
  const std::uint64_t number = ops_.begin() + (id.value() + kIdModulus - oldest) % kIdModulus;
  return ops_.holds(number) ? number : kGone;
}

std::uint64_t OpBook::first_value(const Op& op) const {
  return values_.begin() +
         static_cast<std::uint32_t>(op.first_value - static_cast<std::uint32_t>(values_.begin()));
}

}  // namespace stowage::tracer
