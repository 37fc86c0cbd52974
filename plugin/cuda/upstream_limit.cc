#include "plugin/cuda/upstream_limit.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "plugin/budget/rescue.h"
#include "plugin/notice.h"

namespace stowage::plugin {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;

std::int64_t rounded(std::size_t bytes) { return static_cast<std::int64_t>(round_up(Bytes(bytes)).value()); }

// What upstream may map beyond what it checked: the rest of an expandable segment's last page.
std::uint64_t slack() {
  constexpr std::uint64_t kChecked = std::uint64_t{2} << 20;  // what upstream rounds large requests up to
  if (!Config::use_expandable_segments()) return 0;
  return std::max<std::uint64_t>(Config::large_segment_size(), kChecked) - kChecked;
}

// The largest fraction of `whole` that comes to no more than `most`.
double fraction_of(std::uint64_t most, std::uint64_t whole) {
  if (most >= whole) return 1;
  double fraction = static_cast<double>(most) / static_cast<double>(whole);
  while (fraction > 0 && static_cast<std::uint64_t>(fraction * static_cast<double>(whole)) > most)
    fraction = std::nextafter(fraction, 0.0);
  return fraction;
}

}  // namespace

int& NotTheEnd::depth() noexcept {
  thread_local int depth = 0;
  return depth;
}

// Other threads may be at work: what they take meanwhile is in the events, or in the statistics, or in both.
void UpstreamLimit::count_in(Ledger& ledger) {
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

// For a schedule's log. Nobody needs it without a limit.
void UpstreamLimit::note_tensors(std::int64_t delta) noexcept {
  const std::int64_t held = in_tensors_.fetch_add(delta) + delta;
  if (ledger_->limited())
    rescue_driver().note_memory(delta, static_cast<std::uint64_t>(std::max<std::int64_t>(held, 0)));
}

void UpstreamLimit::cap(std::optional<Bytes> most) noexcept try {
  {
    const std::lock_guard lock(mutex_);
    if (!most_ && !most) return;
    if (!user_fraction_) user_fraction_ = upstream_.getMemoryFraction(index_);
    most_ = most;
  }
  apply();
  if (most && ledger_->upstream() > *most) upstream_.emptyCache();
} catch (const std::exception& error) {
  warn(std::string("the CUDA allocator's limit could not be changed: ") + error.what());
}

double UpstreamLimit::user_fraction() const {
  {
    const std::lock_guard lock(mutex_);
    if (user_fraction_) return *user_fraction_;
  }
  return upstream_.getMemoryFraction(index_);
}

void UpstreamLimit::set_user_fraction(double fraction) {
  const bool ours = [&] {
    const std::lock_guard lock(mutex_);
    return most_.has_value();
  }();
  if (!ours || !(fraction >= 0 && fraction <= 1)) return upstream_.setMemoryFraction(fraction, index_);
  {
    const std::lock_guard lock(mutex_);
    user_fraction_ = fraction;
  }
  apply();
}

void UpstreamLimit::apply() {
  double fraction = 1;
  {
    const std::lock_guard lock(mutex_);
    fraction = user_fraction_.value_or(1);
    if (most_) {
      const std::uint64_t most = most_->value() - std::min(most_->value(), slack());
      fraction = std::min(fraction, fraction_of(most, device_memory_.value()));
    } else {
      user_fraction_.reset();
    }
  }
  const c10::cuda::CUDAGuard guard(index_);
  upstream_.setMemoryFraction(fraction, index_);
}

}  // namespace stowage::plugin
