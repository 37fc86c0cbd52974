#include "allocator/model/steady_events.h"

#include <algorithm>
#include <tuple>

namespace stowage::allocator {
namespace {

struct TimedEvent {
  Tick tick;
  SteadyEvent event;
};

bool within(Tick tick, Tick begin, Tick end) { return tick >= begin && tick < end; }

}  // namespace

Result<SteadyEvents> steady_events(const Trace& trace) {
  if (!trace.steady) {
    return Error{ErrorCode::kUnplannable,
                 "the trace has no steady iteration: record at least two iterations that allocate alike"};
  }
  const SteadyWindow window = *trace.steady;
  std::vector<TimedEvent> timed;
  SteadyEvents result;
  std::uint32_t previous_ordinal = 0;
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.preexisting) continue;
    const bool previous = within(buffer.birth, window.previous_begin, window.begin);
    const bool current = within(buffer.birth, window.begin, window.end);
    if (!previous && !current) continue;
    const auto ordinal =
        previous ? previous_ordinal++ : static_cast<std::uint32_t>(result.allocations.size());
    if (current) {
      result.allocations.push_back(&buffer);
      timed.push_back({buffer.birth, {SteadyEvent::Kind::kAllocate, false, ordinal}});
    }
    if (buffer.death != kNever && within(buffer.death, window.begin, window.end)) {
      timed.push_back({buffer.death, {SteadyEvent::Kind::kFree, previous, ordinal}});
    }
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.tick < b.tick; });
  result.events.reserve(timed.size());
  for (const TimedEvent& entry : timed) result.events.push_back(entry.event);
  return result;
}

}  // namespace stowage::allocator
