#include "session/budget/further_schedules.h"

#include <algorithm>
#include <memory>
#include <string>

#include "session/settings/notice.h"

namespace stowage::session {
namespace {

constexpr std::size_t kMostStrays = 256;  // kinds that are counted

}  // namespace

void FurtherSchedules::begin(const Schedule& first, const StepLog* log) {
  const std::uint64_t hash = hash_of_ops(first.shape_hashes);
  if (known_.empty() || hash != first_) {
    stop();
    known_ = {first_ = hash};
  }
  if (log == nullptr) return;
  for (std::size_t op = 0; op < log->shape_hashes.size(); ++op)
    times_[log->shape_hashes[op]] = {log->trace.ops[op].duration_ns, log->trace.ops[op].timed_by};
}

void FurtherSchedules::stop() {
  scheduler_.cancel();
  give_up_search();
  known_.clear();
  times_.clear();
  patience_ = kTimesLeft;
  count_ = 0;
  logs_.clear();
  remade_ = 0;
}

void FurtherSchedules::end_search() {
  to_look_at_ = 0;
  logging_ = asked_log_ = asked_schedule_ = false;
}

void FurtherSchedules::give_up_search() {
  end_search();
  strays_.clear();
}

void FurtherSchedules::before_end(bool strayed, std::uint64_t ops_hash) {
  ++mark_;
  strayed_ = strayed;
  if (strayed) note_stray(ops_hash);
  if (scheduler_.busy()) return take_schedule();
  if (remade_ < logs_.size()) return remake_next();
  if (to_look_at_ == 0 || logging_ || mark_ < next_log_) return;
  torch_.record_next(nullptr);
  logging_ = asked_log_ = true;
}

// What differs each time is worth no schedule.
void FurtherSchedules::note_stray(std::uint64_t ops_hash) {
  if (strays_.size() >= kMostStrays) strays_.clear();
  Strays& kind = strays_[ops_hash];
  const std::uint64_t interval = mark_ - std::exchange(kind.last, mark_);
  if (++kind.times < patience_ || is_making() || known_.size() > kMost) return;
  if (to_look_at_ == 0) {
    patience_ *= 2;
    to_look_at_ = kMostLogged;
  }
  next_log_ = mark_ + interval - 1;
}

// Every second iteration can be logged, and after some the other ones: kinds may come in turn.
void FurtherSchedules::after_end(Bytes budget) {
  constexpr std::uint64_t kInARow = 3;
  if (!logging_ || std::exchange(asked_log_, false)) return;
  logging_ = false;
  --to_look_at_;
  next_log_ = std::max(next_log_, mark_ + (to_look_at_ % kInARow == 0 ? 2 : 1));
  take_log(budget);
}

void FurtherSchedules::take_log(Bytes budget) {
  std::optional<Result<StepLog>> log = torch_.take_log();
  const bool is_good = log && log->ok() && strayed_;
  if (!is_good || known_.count(hash_of_ops((*log)->shape_hashes)) != 0) {
    if (to_look_at_ == 0) give_up_search();
    return;
  }
  known_.insert(hash_of_ops((*log)->shape_hashes));
  to_look_at_ = 0;
  borrow_times(**log);
  log_ = std::make_shared<const StepLog>(std::move(**log));
  if (!scheduler_.submit(log_, budget)) return give_up_search();
  asked_schedule_ = true;
}

void FurtherSchedules::remake(Bytes budget) {
  const bool makes_another = scheduler_.busy() && remade_ == logs_.size();
  if (makes_another) known_.erase(hash_of_ops(log_->shape_hashes));  // it is learned again
  scheduler_.cancel();
  give_up_search();
  remake_budget_ = budget;
  remade_ = 0;
}

void FurtherSchedules::remake_next() {
  asked_schedule_ = static_cast<bool>(scheduler_.submit(logs_[remade_], remake_budget_));
  if (!asked_schedule_) ++remade_;
}

void FurtherSchedules::borrow_times(StepLog& log) const {
  for (std::size_t op = 0; op < log.shape_hashes.size(); ++op) {
    const auto known = times_.find(log.shape_hashes[op]);
    if (known == times_.end()) continue;
    log.trace.ops[op].duration_ns = known->second.ns;
    log.trace.ops[op].timed_by = known->second.source;
  }
}

void FurtherSchedules::take_schedule() {
  const bool first = std::exchange(asked_schedule_, false);
  std::optional<Result<Schedule>> made = scheduler_.poll(first ? wait_ : std::chrono::milliseconds(0));
  if (!made) return;
  if (remade_ < logs_.size()) {
    ++remade_;
    if (made->ok()) static_cast<void>(torch_.follow(**made));
    return;
  }
  if (!made->ok()) {
    give_up_search();
    return note(1, "budget: a further kind of iteration has no schedule: " + made->error().message);
  }
  end_search();
  if (Status followed = torch_.follow(**made); !followed) return;
  patience_ = kTimesLeft;
  ++count_;
  logs_.push_back(std::move(log_));
  remade_ = logs_.size();
  note(1, "budget: a schedule for a further kind of iteration is followed: " +
              std::to_string((*made)->replays) + " ops recomputed in each");
  if (kept_ != nullptr) kept_->keep_by_ops(**made);
}

}  // namespace stowage::session
