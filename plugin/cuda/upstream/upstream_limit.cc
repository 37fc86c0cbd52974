#include "plugin/cuda/upstream/upstream_limit.h"

#include <algorithm>
#include <exception>

#include "plugin/cuda/upstream/upstream_settings.h"
#include "recompute/planned.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

std::int64_t rounded(std::size_t bytes) { return static_cast<std::int64_t>(round_up(Bytes(bytes)).value()); }

}  // namespace

// Other threads may allocate meanwhile, which may show in the events, the statistics or both: retry then.
void UpstreamLimit::count_in(session::Ledger& ledger) {
  ledger_ = &ledger;
  c10::cuda::CUDACachingAllocator::AllocatorTraceTracker tracker = [this](const Event& event) {
    on_event(event);
  };
  upstream_.attachAllocatorTraceTracker(std::move(tracker));
  for (;;) {
    const std::uint64_t events = events_.load();
    const std::uint64_t counted = ledger.upstream().value();
    const std::int64_t tensors = in_tensors_.load();
    const auto stats = upstream_.getDeviceStats(index_);
    if (events_.load() != events) continue;
    ledger.take(Bytes(static_cast<std::uint64_t>(stats.reserved_bytes[0].current) - counted));
    in_tensors_.fetch_add(stats.allocated_bytes[0].current - tensors);
    return;
  }
}

void UpstreamLimit::on_event(const Event& event) noexcept {
  if (event.device_ != index_) return;
  events_.fetch_add(1);
  switch (event.action_) {
    case Event::SEGMENT_ALLOC:
    case Event::SEGMENT_MAP:
      return ledger_->take(Bytes(event.size_));
    case Event::SEGMENT_FREE:
    case Event::SEGMENT_UNMAP:
      return ledger_->give(Bytes(event.size_));
    case Event::ALLOC:
      low_point_.note(rounded(event.size_));
      return note_tensors(rounded(event.size_));
    case Event::FREE_REQUESTED:  // it may be completed by a later request, once other streams are done
      return low_point_.note(-rounded(event.size_));
    case Event::FREE_COMPLETED:
      return note_tensors(-rounded(event.size_));
    default:
      return;
  }
}

// For a schedule's log. Only needed under a limit.
void UpstreamLimit::note_tensors(std::int64_t delta) noexcept {
  in_tensors_.fetch_add(delta);
  if (ledger_->limited()) tell_meter(delta);
}

void UpstreamLimit::note_arena(std::int64_t delta) noexcept {
  ledger_->add_in_arena(delta);
  tell_meter(delta);
}

void UpstreamLimit::tell_meter(std::int64_t delta) noexcept {
  const std::int64_t held = std::max<std::int64_t>(in_tensors_.load(), 0);
  recompute::Planned::note_memory(delta, static_cast<std::uint64_t>(held) + ledger_->in_arena().value());
}

void UpstreamLimit::cap(std::optional<Bytes> most) noexcept try {
  std::optional<Bytes> checked;
  if (most) checked = saturating_sub(*most, page_slack());
  fraction_.cap(checked);
  if (most && ledger_->upstream() > *most) upstream_.emptyCache();
} catch (const std::exception& error) {
  session::warn(std::string("the CUDA allocator's limit could not be changed: ") + error.what());
}

}  // namespace stowage::plugin
