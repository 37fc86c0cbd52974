#include "recompute/schedule/follower.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/support/mix.h"

namespace stowage::recompute {

void Follower::follow(Schedule schedule) {
  on_course_ = false;
  const auto same = std::find_if(kinds_.begin(), kinds_.end(), [&](const Schedule& kind) {
    return kind.shape_hashes == schedule.shape_hashes;
  });
  if (same != kinds_.end()) return void(*same = std::move(schedule));
  kinds_.push_back(std::move(schedule));
}

void Follower::leave() {
  kinds_.clear();
  made_.clear();
  history_.clear();
  now_ = next_ = 0;
  on_course_ = false;
}

StorageRecord* Follower::find(std::uint32_t entry) const {
  if (entry >= made_.size()) return nullptr;
  StorageRecord* const record = book_.find(made_[entry].storage);
  return record != nullptr && record->serial == made_[entry].serial ? record : nullptr;
}

void Follower::act(const Action& action) {
  StorageRecord* const record = find(action.entry);
  if (record == nullptr) return void(++counts_.refused);
  if (action.kind == ActionKind::kRematerialize) return residency_.restore(*record);
  ++(residency_.evict(*record) ? counts_.evictions : counts_.refused);
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
    StorageRecord* const record = kind == ActionKind::kEvict ? find(entry) : nullptr;
    if (record != nullptr && residency_.evict(*record)) ++counts_.evictions;
  }
}

void Follower::note_resync() {
  if (!std::exchange(resynced_, true)) ++counts_.resynced;
}

void Follower::lose() {
  on_course_ = false;
  ++counts_.left;
}

// Entries are numbered as in the logged iteration: those of ops that were left out are missing, and those of
// ops that came instead have no number.
bool Follower::come_back(std::uint64_t shape) {
  const Schedule& schedule = kinds_[now_];
  const std::vector<std::uint32_t>& before = schedule.made_before;
  if (before.empty()) {
    lose();
    return false;
  }
  const std::optional<Detour::Way> way = detour_.pass(shape, made_.size(), schedule.shape_hashes, next_op_);
  if (detour_.is_lost()) lose();
  if (!way) return false;
  const std::size_t kept = std::min<std::size_t>(way->made, before[next_op_]);
  const std::size_t missing = before[way->op + 1 - Detour::kAlike] - kept;
  made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(kept),
              made_.begin() + static_cast<std::ptrdiff_t>(way->made));
  made_.insert(made_.begin() + static_cast<std::ptrdiff_t>(kept), missing, Made{nullptr, 0});
  next_op_ = way->op;
  note_resync();
  catch_up();
  return true;
}

void Follower::act_before_next_op() {
  const std::vector<Action>& actions = kinds_[now_].actions;
  for (; next_action_ < actions.size() && actions[next_action_].op == next_op_; ++next_action_)
    act(actions[next_action_]);
  ++next_op_;
}

void Follower::before_op(std::uint64_t shape) {
  counts_.ops_hash = mix((counts_.ops_hash ^ shape) + kGoldenGamma);
  if (!on_course_) return;
  const bool is_next = !detour_.is_on() && (continues(kinds_[now_], shape) || turn(shape));
  if (is_next || come_back(shape)) act_before_next_op();
}

void Follower::made(const StorageRecord& record) {
  if (on_course_) made_.push_back({record.address, record.serial});
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
  const std::optional<std::size_t> all = on_course_ ? has_all_ops() : std::nullopt;
  if (all || (on_course_ && lacks_few_ops())) {
    ++counts_.iterations;
    if (!all) note_resync();
    next_ = history_.next_after(static_cast<std::uint32_t>(all.value_or(now_)));
  } else if (on_course_) {
    ++counts_.left;
  }
  detour_.begin_iteration();
  resynced_ = false;
  made_.clear();
  now_ = next_;
  next_op_ = next_action_ = 0;
  counts_.ops_hash = 0;
  on_course_ = true;
}

}  // namespace stowage::recompute
