// Recorder::snapshot: what is kept, as a Trace of its own: ticks from 0, indices from 0, unused names left
// out.
#include <algorithm>
#include <limits>

#include "tracer/recorder/op_medians.h"
#include "tracer/recorder/recorder_state.h"

namespace stowage::tracer {
namespace {

constexpr std::uint32_t kUnused = std::numeric_limits<std::uint32_t>::max();

class Snapshot {
 public:
  Snapshot(const BufferBook& buffers, const OpBook& ops, const Segment& from, const ClockOrigin& origin)
      : buffers_(buffers), ops_(ops), from_(from), origin_(origin), name_of_(ops.names().size(), kUnused) {}

  Trace take(const Log<Mark>& marks, const RecordedActivities& activities) && {
    trace_.clock_realtime_ns = origin_.realtime_ns;
    make_room();
    add_preexisting();
    for (std::uint64_t i = from_.first_buffer; i < buffers_.log().end(); ++i) add_buffer(buffers_.log()[i]);
    for (std::uint64_t i = from_.first_op; i < ops_.log().end(); ++i) add_op(i);
    const std::uint64_t first_mark = std::max(from_.first_mark, marks.begin());
    for (std::uint64_t i = first_mark; i < marks.end(); ++i)
      trace_.marks.push_back({rebase(marks[i].tick), marks[i].source, origin_.since(marks[i].at_ns)});
    const bool begins_with_mark = first_mark < marks.end() && marks[first_mark].tick == from_.begin;
    add_activities(activities, begins_with_mark ? marks[first_mark].at_ns : 0);
    return std::move(trace_);
  }

 private:
  void make_room() {
    trace_.buffers.reserve(buffers_.kept().size() + buffers_.log().end() - buffers_.log().begin());
    trace_.ops.reserve(ops_.log().end() - std::min(from_.first_op, ops_.log().end()));
  }

  [[nodiscard]] Tick rebase(Tick tick) const {
    if (tick == kNever) return kNever;
    return tick < from_.begin ? Tick(0) : Tick(tick.value() - from_.begin.value());
  }

  [[nodiscard]] OpId rebase(OpId id) const {
    const std::uint64_t number = ops_.number_of(id);
    if (number == OpBook::kGone || number < from_.first_op) return kNoOp;
    return OpId(static_cast<std::uint32_t>(number - from_.first_op));
  }

  [[nodiscard]] BufferId rebase_key(std::uint64_t key) const {
    if (key >= from_.first_buffer && key < buffers_.log().end()) {
      return BufferId(static_cast<std::uint32_t>(preexisting_.size() + key - from_.first_buffer));
    }
    const auto found = preexisting_.find(key);
    return found == preexisting_.end() ? kNoBuffer : found->second;
  }

  void add_buffer(Buffer buffer) {
    buffer.op = rebase(buffer.op);
    buffer.birth = rebase(buffer.birth);
    buffer.free_requested = rebase(buffer.free_requested);
    buffer.death = rebase(buffer.death);
    trace_.buffers.push_back(buffer);
  }

  // Those that were alive when the first window began: kept on the side, or in the log but older than that
  // window.
  void add_preexisting() {
    std::vector<std::pair<std::uint64_t, Buffer>> old;
    for (const auto& [key, kept] : buffers_.kept()) {
      if (outlives(kept.buffer, from_.begin)) old.emplace_back(key, kept.buffer);
    }
    for (std::uint64_t i = buffers_.log().begin(); i < from_.first_buffer; ++i) {
      if (outlives(buffers_.log()[i], from_.begin)) old.emplace_back(i, buffers_.log()[i]);
    }
    std::sort(old.begin(), old.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [key, buffer] : old) {
      preexisting_.emplace(key, BufferId(static_cast<std::uint32_t>(trace_.buffers.size())));
      buffer.birth = Tick(0);
      buffer.preexisting = true;
      add_buffer(buffer);
    }
  }

  void add_op(std::uint64_t number) {
    Op op = ops_.log()[number];
    const bool ended = op.end != kNever;
    const std::uint64_t first = ops_.first_value(op);
    op.name = ended ? add_name(op.name) : add_unnamed();
    op.parent = rebase(op.parent);
    op.begin = rebase(op.begin);
    op.end = rebase(op.end);
    op.begin_ns = origin_.since(op.begin_ns);
    op.end_ns = origin_.since(op.end_ns);
    if (ops_.knows_device()) trace_.on_device.push_back(ops_.on_device(number));
    op.first_value = static_cast<std::uint32_t>(trace_.values.size());
    for (std::uint64_t i = 0; i < std::uint64_t{op.input_count} + op.output_count; ++i) {
      const OpBook::StoredValue& value = ops_.values()[first + i];
      trace_.values.push_back({rebase_key(value.key), value.version});
    }
    trace_.ops.push_back(op);
  }

  // Those that began after `from_ns`, when the first window did.
  void add_activities(const RecordedActivities& recorded, std::uint64_t from_ns) {
    std::vector<std::uint32_t> name_of(recorded.names.size(), kUnused);
    for (Activity activity : recorded.rows) {
      if (activity.begin_ns < from_ns) continue;
      std::uint32_t& name = name_of[activity.name];
      if (name == kUnused) name = append_name(recorded.names[activity.name]);
      activity.name = name;
      activity.op = rebase(activity.op);
      activity.begin_ns = origin_.since(activity.begin_ns);
      trace_.activities.push_back(activity);
    }
    trace_.losses = recorded.losses;
  }

  std::uint32_t add_name(std::uint32_t recorded) {
    if (name_of_[recorded] == kUnused) name_of_[recorded] = append_name(ops_.names()[recorded]);
    return name_of_[recorded];
  }

  // An op that has not ended has told nothing of itself yet.
  std::uint32_t add_unnamed() {
    if (unnamed_ == kUnused) unnamed_ = append_name("");
    return unnamed_;
  }

  std::uint32_t append_name(const std::string& name) {
    trace_.names.push_back(name);
    return static_cast<std::uint32_t>(trace_.names.size() - 1);
  }

  const BufferBook& buffers_;
  const OpBook& ops_;
  const Segment& from_;
  const ClockOrigin& origin_;
  Trace trace_;
  std::unordered_map<std::uint64_t, BufferId> preexisting_;
  std::vector<std::uint32_t> name_of_;  // recorded name -> name in the trace
  std::uint32_t unnamed_ = kUnused;
};

}  // namespace

std::size_t Recorder::State::first_window(Extent extent) const {
  if (period == 0) return 0;
  std::size_t first = segments.size() - 2 * std::size_t{period};
  while (extent == Extent::kAll && first > 0 && segments[first - 1].dropped == 0) --first;
  return first;
}

Trace Recorder::snapshot(Extent extent) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const State& state = *state_;
  const std::size_t count = state.segments.size();
  const std::size_t first = state.first_window(extent);
  const Segment& from = count == 0 ? state.current : state.segments[first];
  Trace trace = Snapshot(state.buffers, state.ops, from, state.origin).take(state.marks, state.activities);
  trace.info = state.info;
  trace.end = Tick(state.next_tick - from.begin.value());
  trace.dropped = state.current.dropped;
  for (std::size_t i = first; i < count; ++i) trace.dropped += state.segments[i].dropped;
  trace.from_first_allocation =
      state.options.from_first_allocation && !state.forgot && first == 0 && trace.dropped == 0;
  if (state.period != 0) {
    const auto rebased = [&](Tick tick) { return Tick(tick.value() - from.begin.value()); };
    const Segment& previous = state.segments[count - 2 * std::size_t{state.period}];
    const Segment& half = state.segments[count - state.period];
    trace.steady =
        SteadyWindow{rebased(previous.begin), rebased(half.begin), rebased(state.segments.back().end)};
    take_medians(trace, state.period);
  }
  return trace;
}

}  // namespace stowage::tracer
