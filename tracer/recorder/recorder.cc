#include "tracer/recorder/recorder.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tracer/recorder/recorder_state.h"

namespace stowage::tracer {

using Lock = std::lock_guard<std::mutex>;

ClockOrigin ClockOrigin::now() {
  const auto read = [](auto clock) {
    const auto since = decltype(clock)::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
  };
  return {read(std::chrono::steady_clock()), read(std::chrono::system_clock())};
}

bool Recorder::State::make_room(std::uint64_t count) {
  // The newest closed segment stays: without it, no steady state could ever be found.
  while (stored() + count > options.max_events && segments.size() > 1) forget_oldest();
  if (stored() + count <= options.max_events) return true;
  dropped += count;
  current.dropped += count;
  return false;
}

void Recorder::State::forget_oldest() {
  forgot = true;
  segments.pop_front();
  const Segment& oldest = segments.empty() ? current : segments.front();
  buffers.forget_before(oldest.first_buffer, oldest.begin);
  ops.forget_before(oldest.first_op, oldest.first_value);
  marks.forget_before(oldest.first_mark);
  if (segments.size() < 2 * std::size_t{period}) period = 0;
}

Segment Recorder::State::segment_from_here(Tick begin, std::uint64_t first_mark) const {
  Segment segment;
  segment.begin = begin;
  segment.first_buffer = buffers.log().end();
  segment.first_op = ops.log().end();
  segment.first_value = ops.values().end();
  segment.first_mark = first_mark;
  return segment;
}

void Recorder::State::close_segment(MarkSource source) {
  const Tick tick = take_tick();
  current.end = tick;
  current.end_buffer = buffers.log().end();
  segments.push_back(current);
  current = segment_from_here(tick, marks.end());
  marks.push({tick, source, ClockOrigin::now().steady_ns});
  while (segments.size() > 2 * std::size_t{options.max_period_marks}) forget_oldest();
}

Recorder::Recorder(TraceInfo info, RecorderOptions options)
    : state_(std::make_unique<State>(std::move(info), options)) {}

Recorder::~Recorder() = default;

void Recorder::State::add(const void* address, Buffer buffer) {
  if (buffers.find(address) != nullptr) buffers.close(address, take_tick());
  current.fingerprint.add(buffer.rounded, buffer.stream);
  if (!make_room(1)) return;
  buffer.thread = ops.thread_ordinal();
  buffer.op = ops.current(buffer.thread);
  buffer.birth = take_tick();
  buffers.add(address, buffer);
}

void Recorder::on_alloc(const void* address, Bytes bytes, Bytes rounded, StreamId stream) {
  if (address == nullptr) return;
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.rounded = rounded;
  buffer.stream = stream;
  const Lock lock(state_->mutex);
  if (Unrecorded::depth() > 0) {
    state_->unrecorded[address] = buffer;
  } else {
    state_->add(address, buffer);
  }
}

void Recorder::on_set_aside(const void* address, std::uint64_t id) {
  const Lock lock(state_->mutex);
  state_->buffers.set_aside(address, id);
}

void Recorder::on_brought_back(const void* address, std::uint64_t id) {
  const Lock lock(state_->mutex);
  State& state = *state_;
  const auto taken = state.unrecorded.extract(address);
  if (taken.empty())
    return state.buffers.close_aside(id, state.take_tick());  // its memory is a buffer of its own
  if (!state.buffers.bring_back(address, id)) state.add(address, taken.mapped());
}

void Recorder::on_aside_gone(std::uint64_t id) {
  const Lock lock(state_->mutex);
  state_->buffers.close_aside(id, state_->take_tick());
}

void Recorder::on_free_requested(const void* address) {
  const Lock lock(state_->mutex);
  Buffer* buffer = state_->buffers.find(address);
  if (buffer != nullptr && buffer->free_requested == kNever) buffer->free_requested = Tick(state_->next_tick);
}

void Recorder::on_free_completed(const void* address) { on_free(address); }

void Recorder::on_free(const void* address) {
  const Lock lock(state_->mutex);
  state_->unrecorded.erase(address);
  if (!state_->buffers.close(address, Tick(state_->next_tick))) return;
  ++state_->next_tick;
  state_->only_grew = false;
}

void Recorder::on_cross_stream_use(const void* address, StreamId stream) {
  const Lock lock(state_->mutex);
  Buffer* buffer = state_->buffers.find(address);
  if (buffer != nullptr && buffer->stream != stream) buffer->cross_stream = true;
}

OpId Recorder::on_op_begin() {
  const Lock lock(state_->mutex);
  State& state = *state_;
  const std::uint32_t thread = state.ops.thread_ordinal();
  if (!state.make_room(1)) return kNoOp;
  return state.ops.enter(thread, state.take_tick(), state.buffers.log().end());
}

void Recorder::on_op_end(OpId id, const OpRecord& record) {
  if (id == kNoOp) return;
  const Lock lock(state_->mutex);
  State& state = *state_;
  const std::uint32_t thread = state.ops.thread_ordinal();
  if (!state.make_room(record.inputs.size() + record.outputs.size())) {
    state.ops.leave_unrecorded(thread, id);
    return;
  }
  state.ops.leave(thread, id, record, state.take_tick(), state.buffers);
}

void Recorder::set_op_times(const std::vector<OpTimes>& times) {
  const Lock lock(state_->mutex);
  for (const OpTimes& op : times) state_->ops.set_times(op);
}

void Recorder::set_activities(std::vector<Activity> activities, std::vector<std::string> names,
                              const ActivityLosses& losses) {
  std::sort(activities.begin(), activities.end(),
            [](const Activity& a, const Activity& b) { return a.begin_ns < b.begin_ns; });
  const Lock lock(state_->mutex);
  state_->activities = {std::move(activities), std::move(names), losses};
}

bool Recorder::on_mark(MarkSource source) {
  const Lock lock(state_->mutex);
  State& state = *state_;
  if (state.current.first_buffer == state.buffers.log().end() && state.current.dropped == 0) return false;
  state.close_segment(source);
  state.only_grew = false;
  state.period = find_period(state.segments, state.buffers.log(), state.options.max_period_marks);
  return true;
}

bool Recorder::steady() const { return period_marks() != 0; }

std::uint32_t Recorder::period_marks() const {
  const Lock lock(state_->mutex);
  return state_->period;
}

std::optional<std::uint64_t> Recorder::fingerprint_of_window(std::size_t back) const {
  const Lock lock(state_->mutex);
  const std::deque<Segment>& segments = state_->segments;
  if (back >= segments.size() || segments[segments.size() - 1 - back].dropped != 0) return std::nullopt;
  return segments[segments.size() - 1 - back].fingerprint.value();
}

std::vector<RequestLife> Recorder::lives_of_window() const {
  const Lock lock(state_->mutex);
  std::vector<RequestLife> lives;
  if (state_->segments.empty()) return lives;
  const Segment& window = state_->segments.back();
  const Log<Buffer>& log = state_->buffers.log();
  std::vector<Tick> births;
  for (std::uint64_t key = window.first_buffer; key < window.end_buffer; ++key)
    if (log.holds(key)) births.push_back(log[key].birth);
  for (std::uint64_t key = window.first_buffer; key < window.end_buffer; ++key) {
    if (!log.holds(key)) continue;
    const Buffer& buffer = log[key];
    const auto until = std::lower_bound(births.begin(), births.end(), buffer.death) - births.begin();
    lives.push_back({buffer.rounded, buffer.stream, buffer.death >= window.end,
                     static_cast<std::uint32_t>(until) - static_cast<std::uint32_t>(lives.size()) - 1});
  }
  return lives;
}

bool Recorder::comes_again(std::size_t count) const {
  const Lock lock(state_->mutex);
  const std::deque<Segment>& segments = state_->segments;
  if (count == 0 || segments.size() < count) return false;
  std::unordered_map<std::uint64_t, int> times;
  for (const Segment& segment : segments) ++times[segment.fingerprint.value()];
  return std::all_of(segments.end() - static_cast<std::ptrdiff_t>(count), segments.end(),
                     [&](const Segment& s) { return s.dropped == 0 && times[s.fingerprint.value()] >= 2; });
}

bool Recorder::all_differ(std::size_t count) const {
  const Lock lock(state_->mutex);
  const std::deque<Segment>& segments = state_->segments;
  if (segments.size() < count) return false;
  std::unordered_set<std::uint64_t> seen;
  return std::all_of(
      segments.end() - static_cast<std::ptrdiff_t>(count), segments.end(),
      [&](const Segment& s) { return s.dropped == 0 && seen.insert(s.fingerprint.value()).second; });
}

void Recorder::clear() {
  const Lock lock(state_->mutex);
  State& state = *state_;
  state.forgot = true;
  state.segments.clear();
  state.period = 0;
  state.current = state.segment_from_here(Tick(state.next_tick), state.marks.end());
  state.buffers.forget_before(state.current.first_buffer, state.current.begin);
  state.ops.forget_before(state.current.first_op, state.current.first_value);
  state.marks.forget_before(state.current.first_mark);
}

bool Recorder::is_whole() const {
  const Lock lock(state_->mutex);
  return !state_->forgot && state_->dropped == 0;
}

bool Recorder::only_grew() const {
  const Lock lock(state_->mutex);
  return state_->only_grew;
}

std::uint64_t Recorder::dropped() const {
  const Lock lock(state_->mutex);
  return state_->dropped;
}

Bytes Recorder::live() const {
  const Lock lock(state_->mutex);
  return Bytes(state_->buffers.live_bytes());
}

}  // namespace stowage::tracer
