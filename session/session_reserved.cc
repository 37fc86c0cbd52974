// The guard of reserved memory: with a plan a job never reserves more than it was seen to need without one.
//
// What counts is the sum of the arena and of what upstream holds. It is compared with the most that upstream
// alone held while no plan was followed, under the allocator settings that hold now and hardly more than it
// would have held without Stowage, with what tensors the job came to keep since on top, or with what tensors
// held at one time, if that is more: no allocator does with less. The sum is foretold before the arena is
// mapped, from below, and looked at after every planned iteration. Two things are forgiven: what is left of
// the switch, and a few iterations of a kind that may yet get a plan beside the others.
#include <algorithm>
#include <string>

#include "allocator/backend.h"
#include "allocator/model/caching_replay.h"
#include "session/plans/plan_cache.h"
#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

constexpr std::uint64_t kSharesOfNeed = 100;          // so many parts of the need; one may come on top
constexpr Bytes kLeastSlack{std::uint64_t{1} << 20};  // or this, or three pages: small jobs are all rounding
constexpr std::uint64_t kOversizedClean = 2;          // iterations, all of them by the plan
constexpr std::uint64_t kOversized = 4;               // iterations, some of them off the plan
constexpr std::uint64_t kServedWell = 16;            // iterations within the bound: the job has changed since
constexpr Bytes kRounding{std::uint64_t{40} << 20};  // two of the pages that upstream grows by
constexpr std::size_t kMostModelled = std::size_t{1} << 19;  // buffers: a second or so
constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

std::string in_mib(Bytes bytes) { return std::to_string((bytes.value() + kMib / 2) / kMib) + " MiB"; }

// What the last iteration handed on, for which the plan has places.
Bytes handed_on(const Plan& plan) {
  Bytes sum{0};
  for (const PlanEntry& entry : plan.entries) {
    if (entry.crosses && entry.offset != kUpstream) sum += entry.rounded;
  }
  return sum;
}

}  // namespace

void Session::State::note_reserved(Bytes upstream_reserved) {
  if (!arena.exists()) return;
  const std::uint64_t sum = held(upstream_reserved).value();
  for (std::atomic<std::uint64_t>* highest : {&reserved_after, &reserved_in_iteration}) {
    std::uint64_t before = highest->load(std::memory_order_relaxed);
    while (before < sum && !highest->compare_exchange_weak(before, sum)) {
    }
  }
}

// What a job keeps from some iteration on (a copy of its weights, averages of them) it would need without a
// plan, too. It is looked at where an iteration was all planned: what others hand on lies outside for once.
// Old tensors of the switch are gone first.
void Session::State::note_lasting(Bytes outside) {
  if (settled_iterations < kIterationsOfOldTensors && !lasting_first) return;
  lasting_first = std::min(lasting_first.value_or(outside), outside);
  lasting_more.store((outside - *lasting_first).value(), std::memory_order_relaxed);
}

// Where the trace has all of the job, what expandable segments would have reserved is known: what Stowage
// sets apart while it records may take more than that. A page or two are rounding.
void Session::State::note_modelled(const Trace& trace) {
  using allocator::CachingModel;
  if (budget.on() || info.device != DeviceKind::kCuda || trace.buffers.size() > kMostModelled) return;
  const auto model = allocator::replay_caching(trace, CachingModel::Segments::kExpandable);
  if (!model) return;
  // Where the device has less, the job waited for other streams instead, and would have without Stowage.
  const Bytes device = info.device_memory;
  const Bytes modelled = device.value() == 0 ? model->reserved : std::min(model->reserved, device);
  facts.note_modelled(modelled, kRounding);
}

// The most that may be reserved; nothing where the device does not tell, or no iteration without a plan was
// seen to its end.
std::optional<Bytes> Session::State::most_reserved() {
  if (budget.on() || from_cache || port.upstream_use().peak_reserved.value() == 0) return std::nullopt;
  const std::optional<Bytes> exact = port.peak_together();
  const allocator::PlannedAllocator* const now = hot.owner.load(std::memory_order_acquire);
  const Bytes live_seen = now == nullptr ? Bytes(0) : exact.value_or(now->peak_bytes());
  const Bytes need = facts.need(live_seen, Bytes(lasting_more.load(std::memory_order_relaxed)));
  const Bytes page = port.arena_page();
  const Bytes slack = std::max({Bytes(need.value() / kSharesOfNeed), kLeastSlack, page + page + page});
  last_most.store((need + slack).value(), std::memory_order_relaxed);
  return need + slack;
}

// Recording itself may have got by with less than the job would need without Stowage (keep_peak_low). A plan
// is not left for that.
Bytes Session::State::tolerated(Bytes most) const {
  const Bytes modelled = facts.modelled();
  return std::max(most, modelled + Bytes(modelled.value() / kSharesOfNeed));
}

bool Session::State::refuse_oversized(const Plan& plan) {
  const std::optional<Bytes> most = most_reserved();
  if (!most) return false;
  const Bytes held = arena.outside_bytes(port.upstream_use());
  const Bytes stays = held - std::min(held, handed_on(plan));
  const Bytes sum = allocator::round_up_to(plan.height, port.arena_page()) + stays;
  if (sum <= tolerated(*most)) return false;
  give_up_plan(sum, *most);
  return true;
}

// At an iteration's end. True if the plan was left. `clean`: every request was the plan's.
bool Session::State::leave_oversized(bool clean) {
  const Bytes reserved(reserved_in_iteration.exchange(0));
  if (++settled_iterations <= kIterationsOfOldTensors) return release_upstream(), false;
  if (reserved.value() <= last_most.load(std::memory_order_relaxed)) return false;  // most iterations
  const std::optional<Bytes> most = most_reserved();
  if (!most || reserved <= tolerated(*most)) return false;
  note(2, "an iteration reserved " + in_mib(reserved) + ", more than " + in_mib(*most));
  release_upstream();
  if (background) return false;  // a further plan may mend it
  if (++oversized_iterations < (clean ? kOversizedClean : kOversized)) return false;
  forget_cached_plan();
  const bool changed = settled_iterations > oversized_iterations + kServedWell;
  if (changed || !std::exchange(left_for_memory, true)) {
    note(1, "arena and upstream reserve " + in_mib(reserved) + " together and " + in_mib(*most) +
                " are enough without a plan");
    back_to_recording();
  } else {
    give_up_plan(reserved, *most);
  }
  return true;
}

// The next run of the job had better not begin with it.
void Session::State::forget_cached_plan() {
  if (!settings.plan_cache.empty()) forget_plan(settings.plan_cache, info, known_plans[first_active]);
}

void Session::State::give_up_plan(Bytes reserved, Bytes most) {
  turn_off("with its plan the job would reserve " + in_mib(reserved) + ", and " + in_mib(most) +
               " are enough without one",
           true);
  port.release_upstream_cache();
}

}  // namespace stowage::plugin
