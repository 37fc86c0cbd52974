#include "session/budget/budget_controller.h"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr Bytes kWorthALimit{1u << 20};

}  // namespace

BudgetController::BudgetController(const Budget& budget, Ledger* ledger, TorchPort& torch, Device device,
                                   Bytes device_memory, std::chrono::milliseconds schedule_wait,
                                   DevicePort* port, ScheduleController::Maker maker, KeptSchedules* kept)
    : budget_(budget),
      ledger_(ledger),
      torch_(torch),
      device_(device),
      device_memory_(device_memory),
      port_(port),
      schedule_(torch, schedule_wait, port, std::move(maker), kept) {
  if (budget_.is_auto()) arm();
  if (!budget_.is_set()) return;
  state_.change(State::kWaiting, budget_.text());
  if (ledger_ == nullptr) {
    refuse("Stowage does not count this device's memory");
  } else if (budget_.kind() == Budget::Kind::kShareOfDevice && device_memory_.value() == 0) {
    refuse("the size of the device's memory is not known");
  }
}

void BudgetController::refuse(const std::string& why) {
  state_.change(State::kNone, why);
  if (ledger_ != nullptr) ledger_->lift_limit();
  warn("the budget of " + budget_.text() + " cannot be held: " + why + "; the job goes on without a budget");
}

void BudgetController::begin(bool last_call) {
  if (state_.load() != State::kWaiting || (!torch_.guards_are_known() && !last_call)) return;
  if (!torch_.guards_are_known())
    return refuse(
        "Stowage's Python package is not loaded in this process, and only it can guard tensors whose "
        "pointers Python code gets (install it beside torch, or call stowage.enable(budget=…))");
  if (Status begun = torch_.begin_rescue(); !begun) return refuse(begun.error().message);
  state_.change(State::kWatching, "the runtime is installed");
  evictions_at_mark_ = unplanned_evictions();
  if (!budget_.needs_peak()) set_limit(budget_.limit_of(device_memory_));
}

void BudgetController::take_limit(Bytes limit) noexcept {
  ledger_->set_limit(limit);
  torch_.note_limit(limit, device_);
}

void BudgetController::set_limit(Bytes limit) {
  take_limit(limit);
  note(1, "budget: " + std::to_string(limit.value()) + " bytes");
  shed();
}

// Evicts what the job held before the limit was set, as far as possible.
void BudgetController::shed() {
  const Bytes over = ledger_->missing(Bytes(0));
  if (over.value() == 0) return;
  torch_.make_room(over, device_);
  ledger_->trim();
  if (ledger_->met()) return;
  note(1, "budget: the job holds " + std::to_string(ledger_->missing(Bytes(0)).value()) +
              " bytes above it that cannot be evicted; nothing is added until they are freed");
}

void BudgetController::end() noexcept try {
  if (state_.load() == State::kArmed) return state_.change(State::kEnded, "the session ends");
  if (!on()) return;
  warn_of_no_limit();
  ledger_->lift_limit();
  if (state_.load() == State::kWatching) {
    end_runtime();
    state_.change(State::kResting, "the session ends");
  }
  state_.change(State::kEnded, "the session ends");
} catch (const std::exception& error) {
  warn(std::string("the budget ends, but not every evicted tensor could be restored: ") + error.what());
}

// Small processes beside the job, such as launchers, have nothing to limit.
void BudgetController::warn_of_no_limit() const {
  if (!pending() || state_.load() != State::kWatching || ledger_->peak_held() < kWorthALimit) return;
  warn("the budget of " + budget_.text() +
       " never took effect: the job ended before its own peak was known; a budget in bytes, such as 12GiB, "
       "takes effect with the first allocation");
}

void BudgetController::rest() {
  if (state_.load() != State::kWatching) return;
  if (budget_.is_auto()) return stand_down();
  end_runtime();
  state_.change(State::kResting, "nothing is to be evicted");
}

void BudgetController::end_runtime() {
  const RuntimeCounters counts = torch_.counters();
  schedule_.stop();
  torch_.end_rescue();
  const std::lock_guard lock(counts_mutex_);
  earlier_ = earlier_ + counts;
}

void BudgetController::resume() {
  if (state_.load() != State::kResting) return;
  if (Status begun = torch_.begin_rescue(); !begun) return refuse(begun.error().message);
  state_.change(State::kWatching, "the plan was left");
  evictions_at_mark_ = unplanned_evictions();
}

std::uint64_t BudgetController::unplanned_evictions() const {
  const RuntimeCounters counts = torch_.counters();
  return counts.evictions + counts.offloads - torch_.follow_counters().evictions;
}

bool BudgetController::on_mark(MarkSource source) {
  evicted_on_demand_ = end_iteration(source);
  return evicted_on_demand_;
}

bool BudgetController::end_iteration(MarkSource source) {
  begin(/*last_call=*/true);
  ++marks_;
  between_ops_ = source != MarkSource::kPeriod;
  if (!on()) return false;
  ledger_->end_iteration();
  if (between_ops_ && believed_.exchange(false)) ledger_->lift_limit();  // iterations measure it better
  if (pending()) {
    learn_peak(source);
  } else if (!ledger_->met()) {
    shed();
  }
  if (state_.load() != State::kWatching) return false;
  if (between_ops_) schedule_.end_iteration(ledger_->limit(), marks_, !pending());
  const std::uint64_t evictions = unplanned_evictions();
  const bool evicted = std::exchange(evictions_at_mark_, evictions) != evictions;
  if (budget_.is_auto()) stand_down_where_calm(evicted);
  return evicted;
}

bool BudgetController::may_rest() const {
  if (state_.load() != State::kWatching) return true;
  return between_ops_ && is_idle();
}

bool BudgetController::is_idle() const {
  return torch_.threads_in_iterations() <= 1 && torch_.counters().away().value() == 0;
}

bool BudgetController::make_room(Bytes bytes) noexcept {
  const Bytes missing = ledger_->missing(bytes);
  if (missing.value() == 0) return true;
  note_shortage();
  note_demand(bytes);
  return state_.load() == State::kWatching && torch_.make_room(missing, device_);
}

// The wait is bounded, so that two threads that wait for each other both get their error.
bool BudgetController::await_others(Bytes bytes, bool refused) noexcept {
  constexpr std::chrono::milliseconds kLongest{100}, kStep{1};
  if (state_.load() != State::kWatching) return false;
  for (auto waited = kStep; waited <= kLongest && torch_.threads_in_iterations() > 1; waited += kStep) {
    std::this_thread::sleep_for(kStep);
    const Bytes missing = ledger_->missing(bytes);
    const bool fits = missing.value() == 0;
    if ((fits && !refused) || torch_.make_room(fits ? bytes : missing, device_)) return true;
  }
  return false;
}

bool BudgetController::make_contiguous_room(Bytes bytes, const FreeSpace& space) noexcept {
  if (state_.load() != State::kWatching || !torch_.make_contiguous_room(bytes, device_, space)) return false;
  note_shortage();
  return true;
}

// Within the limit the request fails for want of whole pages or of one contiguous room: little more may do.
bool BudgetController::make_more_room(Bytes bytes) noexcept {
  constexpr std::uint64_t kSteps = 16;
  const Bytes missing = ledger_->missing(bytes);
  const Bytes step = std::min(bytes, std::max(upstream_page(), Bytes(bytes.value() / kSteps)));
  note_shortage();
  note_demand(bytes);
  return state_.load() == State::kWatching &&
         torch_.make_room(missing.value() == 0 ? step : missing, device_);
}

// Upstream on CUDA takes whole pages of at most this many bytes.
Bytes BudgetController::upstream_page() const {
  return Bytes(device_.kind == DeviceKind::kCuda ? 20u << 20 : 0);
}

std::optional<Bytes> BudgetController::most_room(Bytes idle) const {
  if (!on() || !ledger_->limited()) return std::nullopt;
  const Bytes evictable = state_.load() == State::kWatching ? torch_.evictable(device_) : Bytes(0);
  const Bytes stays = saturating_sub(ledger_->held(), evictable + idle);
  const std::uint64_t room = saturating_sub(ledger_->limit(), stays).value();
  return Bytes(room - room % std::max(upstream_page(), Bytes(1)).value());
}

std::string BudgetController::explain(Shortage shortage) {
  shortage.held = ledger_->held();
  shortage.limit = ledger_->limit() + upstream_page();
  std::string why = torch_.explain(shortage, device_);
  if (why.empty()) return why;
  refusals_.fetch_add(1, std::memory_order_relaxed);
  const std::string what =
      budget_.is_auto() ? "what the job can get of the device" : "the budget of " + budget_.text();
  return what + " (" + std::to_string(ledger_->limit().value()) + " bytes) is used up: " + why;
}

BudgetFacts BudgetController::facts() const {
  BudgetFacts facts;
  if (state_.load() == State::kNone || (budget_.is_auto() && joins_.load() == 0)) return facts;
  facts.setting = budget_.text();
  if (ledger_->met()) {
    facts.limit = ledger_->limit();
  } else if (ledger_->limited()) {
    facts.excess = ledger_->missing(Bytes(0));
  }
  facts.own_peak = Bytes(own_peak_.load());
  facts.held = ledger_->held();
  facts.peak_held = ledger_->peak_held();
  facts.last_iteration_peak = ledger_->last_iteration_peak();
  facts.shortages = shortages_.load();
  facts.refusals = refusals_.load();
  facts.joins = joins_.load();
  facts.joined_at = joined_at_.load();
  facts.watching = state_.load() == State::kWatching;
  facts.schedule = schedule_.facts();
  const std::lock_guard lock(counts_mutex_);
  facts.counts = facts.watching ? earlier_ + torch_.counters() : earlier_;
  return facts;
}

void BudgetController::after_fork() noexcept {
  if (ledger_ != nullptr) ledger_->forget_limit();
}

}  // namespace stowage::session
