#include "session/reserved/reserved_guard.h"

#include <algorithm>
#include <utility>

#include "allocator/arena/backend.h"
#include "allocator/model/caching_replay.h"
#include "core/support/extremes.h"
#include "session/settings/notice.h"
#include "session/settings/phrases.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kSharesOfNeed = 100;          // 1/this of the need may come on top
constexpr Bytes kLeastSlack{std::uint64_t{1} << 20};  // or this, or three pages: small jobs are all rounding
constexpr Bytes kHostSlack{std::uint64_t{4} << 20};  // on the CPU: a process with torch holds hundreds of MiB
constexpr std::uint64_t kOldTensors = 2;             // iterations of a new plan: older tensors are freed
constexpr std::uint64_t kOversizedClean = 2;         // iterations, all of them by the plan
constexpr std::uint64_t kOversized = 8;              // iterations, some of them off the plan
constexpr std::uint64_t kServedWell = 16;            // iterations within the bound: the job has changed since
constexpr Bytes kRounding{std::uint64_t{40} << 20};  // two of the pages that upstream grows by
// Of what lives in the arena, without a plan. Best fit leaves no larger holes than expandable segments do,
// which are seldom more; a recording of few iterations shows them too small.
constexpr double kLeastHoles = 0.25;
constexpr Bytes kOnlineSlack{std::uint64_t{8} << 20};  // two pages for small requests and two for large ones
constexpr std::size_t kMostModelled = std::size_t{1} << 19;  // buffers: a second or so

}  // namespace

void ReservedGuard::note_reserved(Bytes upstream_reserved) {
  if (!arena_.exists()) return;
  const std::uint64_t sum = held(upstream_reserved).value();
  raise_to(reserved_after_, sum);
  raise_to(reserved_in_iteration_, sum);
  raise_to(upstream_in_iteration_, upstream_reserved.value());
}

void ReservedGuard::reset_peak() {
  reserved_after_.store(0, std::memory_order_relaxed);
  note_reserved(port_.upstream_use().reserved);
}

// If the trace covers the whole job, a simulation shows what expandable segments would have reserved. Memory
// that Stowage keeps apart while it records may take more. A page or two are rounding.
void ReservedGuard::note_modelled(const Trace& trace) {
  using allocator::CachingModel;
  if (budget_.on() || info_.device.kind != DeviceKind::kCuda || trace.buffers.size() > kMostModelled) return;
  const auto model = allocator::replay_caching(trace, CachingModel::Segments::kExpandable);
  if (!model) return;
  if (model->peak_live.value() != 0)
    modelled_holes_ =
        static_cast<double>(model->reserved.value()) / static_cast<double>(model->peak_live.value()) - 1;
  // If the device has less, the job waited for other streams instead, as it would have without Stowage.
  const Bytes device = info_.device_memory;
  facts_.note_modelled(device.value() == 0 ? model->reserved : std::min(model->reserved, device), kRounding);
}

void ReservedGuard::begin(bool online) {
  tight_.store(online);
  had_plan_ |= !online;
  holes_.store(online ? std::max(modelled_holes_, kLeastHoles) : 0);
  recorded_live_.store(had_plan_ ? facts_.all().peak_live_before.value() : 0);
  lasting_first_.reset();
  lasting_more_.store(0, std::memory_order_relaxed);
  beside_ = Bytes(0);
}

void ReservedGuard::restart(bool old_tensors_are_gone) {
  settled_iterations_ = old_tensors_are_gone ? kOldTensors : 0;
  oversized_iterations_ = 0;
}

// A job needs what it keeps from some iteration on (a copy of its weights, averages of them) without a plan,
// too. Only fully planned iterations are considered: others pass buffers on outside the arena. Old tensors
// of the switch must be freed first. What is kept lies in upstream's pages, of which a pool of the job's own
// or another stream begins new ones; that too is the job's need, up to a page or two.
void ReservedGuard::note_lasting(Bytes outside, Bytes reserved) {
  if (settled_iterations_ < kOldTensors && !lasting_first_) return;
  reserved_first_ = lasting_first_ ? std::min(reserved_first_, reserved) : reserved;
  lasting_first_ = std::min(lasting_first_.value_or(outside), outside);
  const Bytes kept = outside - *lasting_first_, taken = reserved - reserved_first_;
  const Bytes pages = kept.value() == 0 ? Bytes(0) : std::min(kRounding, taken - std::min(taken, kept));
  lasting_more_.store((kept + pages).value(), std::memory_order_relaxed);
}

// Iterations that never repeat may hold more and more: nobody has recorded how much without the arena. A job
// that had a plan was recorded in iterations that repeat: only what it holds beyond them has holes on top.
Bytes ReservedGuard::with_holes(Bytes live) const {
  const Bytes known(std::min(live.value(), recorded_live_.load(std::memory_order_relaxed)));
  return live + Bytes(static_cast<std::uint64_t>(static_cast<double>((live - known).value()) *
                                                 holes_.load(std::memory_order_relaxed)));
}

std::optional<Bytes> ReservedGuard::most() {
  if (budget_.on() || trusts_plan() || port_.upstream_use().peak_reserved.value() == 0) return std::nullopt;
  const Bytes live_seen = arena_.exists() ? port_.peak_together().value_or(arena_.peak_bytes()) : Bytes(0);
  const Bytes lasting(lasting_more_.load(std::memory_order_relaxed));
  Bytes need = facts_.need(live_seen, lasting);
  if (tight_.load(std::memory_order_relaxed)) {
    last_most_.store(need.value(), std::memory_order_relaxed);
    return need;
  }
  need = std::max(need, with_holes(live_seen));
  const Bytes page = port_.arena_page();
  const Bytes least = port_.commits_on_touch() ? kHostSlack : kLeastSlack;
  Bytes slack = std::max({Bytes(need.value() / kSharesOfNeed), least, page + page + page});
  if (holes_.load(std::memory_order_relaxed) > 0) slack = std::max(slack, kOnlineSlack);
  last_most_.store((need + slack).value(), std::memory_order_relaxed);
  return need + slack;
}

// Recording may have used less memory than the job needs without Stowage (keep_peak_low). That is no reason
// to leave a plan.
Bytes ReservedGuard::tolerated(Bytes most) const {
  const Bytes modelled = facts_.modelled();
  return std::max(most, modelled + Bytes(modelled.value() / kSharesOfNeed));
}

std::optional<ReservedGuard::Excess> ReservedGuard::foretell(const JointPlan& plans) {
  const std::optional<Bytes> allowed = most();
  if (!allowed) return std::nullopt;
  const Bytes page = port_.arena_page();
  const Bytes sum = allocator::round_up_to(plans.height, page) + arena_.staying_outside(plans);
  if (sum <= tolerated(*allowed)) return std::nullopt;
  return Excess{sum, *allowed};
}

std::optional<Bytes> ReservedGuard::room_for_arena(Bytes reserved, Bytes pinned) {
  const std::optional<Bytes> allowed = most();
  if (!allowed) return std::nullopt;
  const Bytes outside = std::max(arena_.outside_bytes(port_.upstream_use()) + pinned, beside_);
  const Bytes all = std::max(*allowed, reserved);
  return saturating_sub(all, outside);
}

ReservedGuard::Verdict ReservedGuard::on_iteration(bool clean, bool planning) {
  const Bytes reserved(reserved_in_iteration_.exchange(0)), upstream(upstream_in_iteration_.exchange(0));
  if (++settled_iterations_ <= kOldTensors) return Verdict::kRelease;
  if (clean) beside_ = upstream;
  tight_.store(false, std::memory_order_relaxed);
  if (reserved <= last_most()) return Verdict::kFine;  // the usual case
  const std::optional<Bytes> allowed = most();
  if (!allowed || reserved <= tolerated(*allowed)) return Verdict::kFine;
  excess_ = {reserved, *allowed};
  note(2, "an iteration reserved " + in_mib(reserved) + ", more than " + in_mib(*allowed));
  if (planning || ++oversized_iterations_ < (clean ? kOversizedClean : kOversized)) return Verdict::kRelease;
  const bool changed = settled_iterations_ > oversized_iterations_ + kServedWell;
  return changed || !std::exchange(left_once_, true) ? Verdict::kLeave : Verdict::kGiveUp;
}

}  // namespace stowage::session
