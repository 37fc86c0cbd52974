#include "replay/replayer.h"

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/arena/fault_backend.h"
#include "core/support/check.h"

namespace stowage::replay {
namespace {

/// The addresses of one iteration's buffers by ordinal; nullptr for those that upstream serves.
using Addresses = std::vector<void*>;

void play_iteration(const SteadyEvents& steady, allocator::PlannedAllocator& planned, Addresses& current,
                    Addresses& previous) {
  for (const SteadyEvent& event : steady.events) {
    if (event.kind == SteadyEvent::Kind::kAllocate) {
      const Buffer& buffer = *steady.allocations[event.ordinal];
      current[event.ordinal] = planned.allocate(buffer.rounded, buffer.stream);
      continue;
    }
    void*& address = (event.from_previous ? previous : current)[event.ordinal];
    if (address != nullptr) planned.free(std::exchange(address, nullptr));
  }
}

/// Rounded bytes that lie outside the plan at the end of the trace.
Bytes outside_bytes(const Trace& trace) {
  Bytes sum{0};
  for (const Buffer& buffer : trace.buffers) {
    const bool persistent = buffer.birth < trace.steady->previous_begin || buffer.preexisting;
    if (persistent && buffer.death == kNever) sum += buffer.rounded;
  }
  return sum;
}

}  // namespace

Result<PlannedReplay> replay_planned(const Trace& trace, const Plan& plan, std::uint32_t iterations) {
  auto steady = steady_events(trace);
  if (!steady) return steady.error();
  if (plan.entries.size() != steady->allocations.size()) {
    return Error{ErrorCode::kInvalidPlan,
                 "the plan is for another job: its iteration has " + std::to_string(plan.entries.size()) +
                     " allocations, the trace's " + std::to_string(steady->allocations.size())};
  }
  auto arena = allocator::make_arena(allocator::FakeAddressBackend{}, plan.height, plan.height);
  if (!arena) return arena.error();
  allocator::PlannedAllocator planned(std::move(arena).value(), {plan});
  Addresses current(steady->allocations.size(), nullptr);
  Addresses previous(steady->allocations.size(), nullptr);
  for (std::uint32_t i = 0; i < iterations; ++i) {
    std::swap(current, previous);
    play_iteration(*steady, planned, current, previous);
    for (std::size_t mark = 0; mark <= plan.inner_marks.size(); ++mark) planned.on_mark();
  }
  PlannedReplay result;
  result.figures = {planned.peak_bytes(), plan.height};
  result.counts = planned.counts();
  result.outside = outside_bytes(trace);
  return result;
}

}  // namespace stowage::replay
