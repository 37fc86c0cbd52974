#include "recompute/schedule/follower.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/support/mix.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

void Follower::follow(Schedule schedule) {
  course_ = Course::kWaiting;
  const auto same = std::find_if(kinds_.begin(), kinds_.end(), [&](const Schedule& kind) {
    return kind.shape_hashes == schedule.shape_hashes;
  });
  if (same != kinds_.end()) {
    lasting_[static_cast<std::size_t>(same - kinds_.begin())].resize(schedule.lasting.size());
    return void(*same = std::move(schedule));
  }
  lasting_.emplace_back(schedule.lasting.size(), Made{nullptr, 0});
  kinds_.push_back(std::move(schedule));
}

void Follower::leave() {
  kinds_.clear();
  made_.clear();
  lasting_.clear();
  history_.clear();
  recent_.clear();
  now_ = next_ = 0;
  course_ = Course::kWaiting;
}

StorageRecord* Follower::find(const std::vector<Made>& buffers, std::size_t at) const {
  if (at >= buffers.size()) return nullptr;
  StorageRecord* const record = book_.find(buffers[at].storage);
  return record != nullptr && record->serial == buffers[at].serial ? record : nullptr;
}

StorageRecord* Follower::find(std::uint32_t entry) const {
  return entry < kLastingEntries ? find(made_, entry) : find(lasting_[now_], entry - kLastingEntries);
}

void Follower::act(const Action& action) {
  StorageRecord* const record = find(action.entry);
  if (record == nullptr) return void(++counts_.refused);
  switch (action.kind) {
    case ActionKind::kRematerialize:
    case ActionKind::kRestore:
      residency_.restore(*record);
      return residency_.rescue().is_due(*record);
    case ActionKind::kStore:
      if (!residency_.offloader().begin_store(*record)) ++counts_.refused;
      return;
    case ActionKind::kPrefetch:
      residency_.rescue().is_due(*record);
      return prefetch(*record);
    case ActionKind::kEvict:
    case ActionKind::kOffload:
      if (!send_away(*record, action.kind)) ++counts_.refused;
  }
}

// What does not fit now comes when an op asks for it.
void Follower::prefetch(StorageRecord& record) {
  try {
    const Deeper may_fail(this_thread().may_fail);
    residency_.offloader().prefetch(record);
  } catch (const c10::OutOfMemoryError&) {
    ++counts_.refused;
  }
}

bool Follower::send_away(StorageRecord& record, ActionKind way) {
  const Deeper scheduled(this_thread().scheduled);
  if (record.away()) residency_.rescue().forget(record);
  if (way == ActionKind::kOffload && record.offloaded) return true;
  const bool gone =
      way == ActionKind::kOffload ? residency_.offloader().offload(record) : residency_.evict(record);
  if (gone) ++counts_.evictions;
  return gone;
}

std::size_t Follower::first_lasting() const {
  const std::vector<UseAt>& lasting = kinds_[now_].lasting;
  const auto is_before = [](const UseAt& use, std::size_t op) { return use.op < op; };
  return static_cast<std::size_t>(std::lower_bound(lasting.begin(), lasting.end(), next_op_ - 1, is_before) -
                                  lasting.begin());
}

std::unordered_set<std::uint64_t> Follower::sent_away() const {
  std::unordered_set<std::uint64_t> serials;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    for (const Action& action : kinds_[kind].actions)
      if (action.entry >= kLastingEntries)
        serials.insert(lasting_[kind][action.entry - kLastingEntries].serial);
  }
  return serials;
}

bool Follower::asks_for_inputs() const {
  if (!acted_ || kinds_.empty() || kinds_[now_].lasting.empty()) return false;
  const std::size_t first = first_lasting();
  return first < kinds_[now_].lasting.size() && kinds_[now_].lasting[first].op == next_op_ - 1;
}

void Follower::note_inputs(std::span<StorageRecord* const> inputs) {
  const std::vector<UseAt>& lasting = kinds_[now_].lasting;
  for (std::size_t at = first_lasting(); at < lasting.size() && lasting[at].op == next_op_ - 1; ++at) {
    if (lasting[at].input >= inputs.size()) continue;
    const StorageRecord& record = *inputs[lasting[at].input];
    lasting_[now_][at] = {record.address, record.serial};
  }
}

bool Follower::continues(const Schedule& schedule, std::uint64_t shape) const {
  const std::vector<std::uint64_t>& ops = schedule.shape_hashes;
  return next_op_ < ops.size() && ops[next_op_] == shape;
}

bool Follower::turn(std::uint64_t shape) {
  const auto so_far = kinds_[now_].shape_hashes.begin();
  const auto other = std::find_if(kinds_.begin(), kinds_.end(), [&](const Schedule& kind) {
    return continues(kind, shape) &&
           std::equal(so_far, so_far + static_cast<std::ptrdiff_t>(next_op_), kind.shape_hashes.begin());
  });
  if (other == kinds_.end()) return false;
  now_ = static_cast<std::size_t>(other - kinds_.begin());
  catch_up();
  return true;
}

// What another schedule evicted stays so until it is read.
void Follower::catch_up() {
  const std::vector<Action>& actions = kinds_[now_].actions;
  std::map<std::uint32_t, ActionKind> latest;  // by entry
  for (next_action_ = 0; next_action_ < actions.size() && actions[next_action_].op < next_op_; ++next_action_)
    latest[actions[next_action_].entry] = actions[next_action_].kind;
  for (const auto& [entry, kind] : latest) {
    const bool leaves = kind == ActionKind::kEvict || kind == ActionKind::kOffload;
    StorageRecord* const record = leaves ? find(entry) : nullptr;
    if (record != nullptr) send_away(*record, kind);
  }
}

void Follower::note_resync() {
  if (!std::exchange(resynced_, true)) ++counts_.resynced;
}

void Follower::lose() {
  course_ = Course::kLost;
  ++counts_.left;
  if (std::exchange(resynced_, false)) --counts_.resynced;
}

// Entries are numbered as in the logged iteration: those of ops that were left out are missing, and those of
// ops that came instead have no number.
void Follower::go_on_at(std::size_t op, std::size_t made) {
  const auto known = [&before = kinds_[now_].made_before](std::size_t at) {
    return at == 0 ? 0u : before[at];
  };
  const std::size_t kept = std::min<std::size_t>(made, known(next_op_));
  const std::size_t missing = known(op) - kept;
  const auto at = [this](std::size_t entry) { return made_.begin() + static_cast<std::ptrdiff_t>(entry); };
  made_.erase(at(kept), at(made));
  made_.insert(at(kept), missing, Made{nullptr, 0});
  recent_.clear();
  note_resync();
}

bool Follower::come_back(std::uint64_t shape) {
  const Schedule& schedule = kinds_[now_];
  if (schedule.made_before.empty()) {
    lose();
    return false;
  }
  const std::optional<Detour::Way> way = detour_.pass(shape, made_.size(), schedule.shape_hashes, next_op_);
  if (detour_.is_lost()) lose();
  if (!way) return false;
  go_on_at(way->op + 1 - Detour::kAlike, way->made);
  next_op_ = way->op;
  catch_up();
  return true;
}

// Layers may be alike: the ops that a detour may lead to come first.
bool Follower::may_be_on_the_way() const {
  if (!is_on_course()) return false;
  for (std::size_t op = next_op_; op <= next_op_ + Detour::kMost; ++op)
    if (recent_.are_at(kinds_[now_].shape_hashes, op)) return true;
  return false;
}

bool Follower::find_again() {
  if (may_be_on_the_way()) return false;
  const bool where_it_left = !is_on_course() && !kinds_[now_].made_before.empty() &&
                             recent_.are_at(kinds_[now_].shape_hashes, next_op_);
  if (!where_it_left) {
    const auto begun = std::find_if(kinds_.begin(), kinds_.end(), [&](const Schedule& kind) {
      return recent_.are_at(kind.shape_hashes, 0);
    });
    if (begun == kinds_.end()) return false;
    now_ = static_cast<std::size_t>(begun - kinds_.begin());
    next_op_ = 0;
  }
  if (!is_on_course()) --counts_.left;
  course_ = Course::kOn;
  detour_.begin_iteration();
  go_on_at(next_op_, recent_.made_before());
  next_op_ += RecentOps::kMost - 1;
  catch_up();
  return true;
}

void Follower::act_before_next_op() {
  const std::vector<Action>& actions = kinds_[now_].actions;
  for (; next_action_ < actions.size() && actions[next_action_].op == next_op_; ++next_action_)
    act(actions[next_action_]);
  ++next_op_;
  acted_ = true;
}

void Follower::before_op(std::uint64_t shape) {
  counts_.ops_hash = mix((counts_.ops_hash ^ shape) + kGoldenGamma);
  acted_ = false;
  if (course_ == Course::kWaiting) return;
  recent_.note({shape, made_.size()});
  const bool follows = is_on_course() && !detour_.is_on() && (continues(kinds_[now_], shape) || turn(shape));
  if (follows || (is_on_course() && come_back(shape)) || find_again()) act_before_next_op();
}

void Follower::made(const StorageRecord& record) {
  if (course_ != Course::kWaiting) made_.push_back({record.address, record.serial});
}

std::optional<std::size_t> Follower::has_all_ops() const {
  if (detour_.is_on()) return std::nullopt;
  const auto is_it = [this](std::size_t kind) { return kinds_[kind].shape_hashes.size() == next_op_; };
  if (is_it(now_)) return now_;
  const std::vector<std::uint64_t>& ops = kinds_[now_].shape_hashes;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const std::vector<std::uint64_t>& shorter = kinds_[kind].shape_hashes;
    if (is_it(kind) && std::equal(shorter.begin(), shorter.end(), ops.begin())) return kind;
  }
  return std::nullopt;
}

bool Follower::lacks_few_ops() const {
  const Schedule& schedule = kinds_[now_];
  return !schedule.made_before.empty() && detour_.ends_well(schedule.shape_hashes, next_op_);
}

void Follower::next_iteration() {
  if (kinds_.empty()) return;
  const std::optional<std::size_t> all = is_on_course() ? has_all_ops() : std::nullopt;
  if (all || (is_on_course() && lacks_few_ops())) {
    ++counts_.iterations;
    if (!all) note_resync();
    next_ = history_.next_after(static_cast<std::uint32_t>(all.value_or(now_)));
  } else if (is_on_course()) {
    lose();
  }
  detour_.begin_iteration();
  resynced_ = false;
  made_.clear();
  recent_.clear();
  now_ = next_;
  next_op_ = next_action_ = 0;
  acted_ = false;
  counts_.ops_hash = 0;
  course_ = Course::kOn;
}

}  // namespace stowage::recompute
