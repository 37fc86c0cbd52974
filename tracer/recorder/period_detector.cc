#include "tracer/recorder/period_detector.h"

#include <algorithm>

namespace stowage::tracer {
namespace {

// A period that is tracked this long is believed; one that breaks sooner was a repetition inside an
// iteration.
constexpr std::uint32_t kBelievedPeriods = 16;

}  // namespace

std::optional<MarkSource> PeriodDetector::on_alloc(Bytes rounded, StreamId stream, Bytes live) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (quiet_ > 0) {
    --quiet_;
    return std::nullopt;
  }
  const Event event{rounded.value(), live.value(), stream.value()};
  if (period_ == 0 || !follows(event)) {
    history_.push_back(event);
    if (history_.size() >= next_search_) search();
    return std::nullopt;
  }
  const bool first = position_ == 0;
  if (first) ++tracked_;
  position_ = (position_ + 1) % period_;
  return first ? std::optional(MarkSource::kPeriod) : std::nullopt;
}

void PeriodDetector::on_mark() {
  const std::lock_guard<std::mutex> lock(mutex_);
  forget();
  quiet_ = options_.quiet_after_mark;
}

std::optional<std::uint32_t> PeriodDetector::period() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return period_ == 0 ? std::nullopt : std::optional(period_);
}

void PeriodDetector::lose() {
  const std::uint32_t found_at = std::max(floor_, options_.repetitions * period_);
  const bool believed = tracked_ >= kBelievedPeriods;
  forget();
  if (!believed) floor_ = std::min(2 * found_at, options_.max_history);
  next_search_ = std::max(next_search_, floor_);
}

void PeriodDetector::forget() {
  history_.clear();
  floor_ = 0;
  tracked_ = 0;
  next_search_ = options_.repetitions * options_.min_period;
  period_ = 0;
  position_ = 0;
}

// Whether the tracked period continues; if not, the search starts over.
bool PeriodDetector::follows(const Event& event) {
  const Event& expected = history_[position_];
  if (expected.rounded == event.rounded && expected.stream == event.stream) return true;
  lose();
  return false;
}

void PeriodDetector::search() {
  if (const std::uint32_t period = find_period()) return begin_tracking(period);
  if (history_.size() >= options_.max_history) {
    history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(history_.size() / 2));
  }
  const std::size_t size = history_.size();
  const std::size_t next = std::max<std::size_t>(size + size / 4, options_.repetitions * options_.min_period);
  next_search_ =
      static_cast<std::uint32_t>(std::min<std::size_t>(next, std::max(options_.max_history, next_search_)));
}

// The longest periodic run that ends now: failure function of the history read backwards.
std::uint32_t PeriodDetector::find_period() const {
  const auto size = static_cast<std::uint32_t>(history_.size());
  const auto equal = [&](std::uint32_t a, std::uint32_t b) {
    const Event& left = history_[size - 1 - a];
    const Event& right = history_[size - 1 - b];
    return left.rounded == right.rounded && left.stream == right.stream;
  };
  std::vector<std::uint32_t> border(
      size, 0);  // of the last i + 1 events: longest proper prefix that is a suffix too
  std::uint32_t best_period = 0;
  std::uint32_t best_run = 0;
  for (std::uint32_t i = 1; i < size; ++i) {
    std::uint32_t length = border[i - 1];
    while (length > 0 && !equal(i, length)) length = border[length - 1];
    border[i] = equal(i, length) ? length + 1 : 0;
    const std::uint32_t run = i + 1;
    const std::uint32_t period = run - border[i];
    if (period < options_.min_period || run / period < options_.repetitions) continue;
    best_period = period;
    best_run = run;
  }
  return best_period != 0 && is_iteration(best_period, best_run) ? best_period : 0;
}

bool PeriodDetector::is_iteration(std::uint32_t period, std::uint32_t run) const {
  const auto by_rounded = [](const Event& a, const Event& b) { return a.rounded < b.rounded; };
  const auto by_live = [](const Event& a, const Event& b) { return a.live < b.live; };
  if (2 * std::size_t{run} < history_.size()) return false;
  const auto last = history_.end() - static_cast<std::ptrdiff_t>(period);
  // The first quarter may hold what is made once, such as a data set.
  const auto recent = history_.begin() + static_cast<std::ptrdiff_t>(history_.size() / 4);
  const auto largest = std::max_element(recent, history_.end(), by_rounded)->rounded;
  if (std::max_element(last, history_.end(), by_rounded)->rounded < largest) return false;
  // Among layers of a forward pass live bytes climb, in a backward pass they sink; iterations come back. A
  // loss that the user keeps may move it a little.
  const auto [lowest, highest] = std::minmax_element(last, history_.end(), by_live);
  const std::uint64_t now = history_.back().live;
  const std::uint64_t before = (history_.end() - 1 - static_cast<std::ptrdiff_t>(period))->live;
  const std::uint64_t drift = now > before ? now - before : before - now;
  return drift <= (highest->live - lowest->live) / 64;
}

// Where an iteration begins is free to choose: where the least is alive, so that the least crosses the
// boundary.
void PeriodDetector::begin_tracking(std::uint32_t period) {
  history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(period));
  const auto first = std::min_element(history_.begin(), history_.end(),
                                      [](const Event& a, const Event& b) { return a.live < b.live; });
  position_ = static_cast<std::uint32_t>(history_.end() - first) % period;
  std::rotate(history_.begin(), first, history_.end());
  period_ = period;
}

}  // namespace stowage::tracer
