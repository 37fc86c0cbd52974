#include "planner/placement/search/state/state.h"

#include <algorithm>

#include "core/support/mix.h"

namespace stowage::planner::placement::search {
namespace {

/// A bijection of 64 bits that spreads every bit.
constexpr std::uint64_t spread(std::uint64_t x) { return mix(x + kGoldenGamma); }

Units align(Units offset, Units alignment) {
  const Units over = offset % alignment;
  return over == 0 ? offset : offset + (alignment - over);
}

/// The floor of a section before it is known.
constexpr Units kBelowAll = -1;

}  // namespace

State::State(const Model& model, Units capacity, bool releases)
    : model_(&model), capacity_(capacity), releases_(releases) {
  const std::size_t tasks = model.tasks.size();
  least_.assign(tasks + 1, kGone);
  offset_.assign(tasks, 0);
  floor_.assign(model.sections, kGone);
  left_.assign(model.sections, 0);
  witness_.assign(model.sections, static_cast<std::uint32_t>(tasks));
  crossing_.assign(model.sections, 0);
  left_count_.assign(model.sections, 0);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const Task& task = model.tasks[i];
    size_.push_back(task.size);
    if (task.size > capacity) hopeful_ = false;
  }
  for (std::uint32_t s = 0; s < model.sections; ++s) {
    if (model.live[s] > capacity) hopeful_ = false;
  }
  if (!hopeful_) return;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const Task& task = model.tasks[i];
    least_[i] = fit(i, 0);
    if (least_[i] > capacity - task.size) hopeful_ = false;
    key_ += key_of(i);
    place_in_.start.push_back(place_in_.start.back() + task.end - task.begin + task.wrapped);
    put_back(i, task.begin, task.end);
    if (task.wrapped == 0) continue;
    put_back(i, 0, task.wrapped);
    ++crossing_[model.sections - 1];
  }
  list_waiting();
  for (std::uint32_t s = 0; s < model.sections; ++s) floor_[s] = kBelowAll;
  for (std::uint32_t s = 0; hopeful_ && s < model.sections; ++s) hopeful_ = refloor(s, 0);
  floor_trail_.clear();
}

std::uint64_t State::key_of(std::uint32_t task, Units least) const {
  return spread((static_cast<std::uint64_t>(task) << 32) + static_cast<std::uint32_t>(least));
}

Units State::fit(std::uint32_t task, Units least) const {
  const Units alignment = model_->tasks[task].alignment;
  Units at = alignment == 1 ? least : align(least, alignment);
  if (!model_->obstacles) return at;
  for (const Held& held : model_->held_from_task[task]) {
    if (held.high <= at) continue;
    if (held.low >= at + size_[task]) break;
    at = align(held.high, alignment);
  }
  return at;
}

void State::set_least(std::uint32_t task, Units least) {
  limit_trail_.push_back({task, least_[task]});
  least_[task] = least;
}

void State::touch(const Task& task) {
  touched_begin_ = std::min(touched_begin_, task.begin);
  touched_end_ = std::max(touched_end_, task.end);
  touched_wrapped_ = std::max(touched_wrapped_, task.wrapped);
}

void State::raise(std::uint32_t task, Units least) {
  key_ += key_of(task, least) - key_of(task, least_[task]);
  set_least(task, least);
  touch(model_->tasks[task]);
}

/// The task meets one whose top is `top`.
bool State::lift(std::uint32_t task, Units top) {
  const Units least = fit(task, top);
  raise(task, least);
  return least <= capacity_ - size_[task];
}

/// Lifts all tasks that are left and begin in these sections, or are alive in the first of them.
bool State::lift_over(std::uint32_t begin, std::uint32_t end, Units top) {
  for (std::uint32_t task : model_->entering[begin]) {
    if (least_[task] < top && !lift(task, top)) return false;
  }
  const std::uint32_t last = model_->first[end];
  work_ += model_->entering[begin].size() + last - model_->first[begin];
  for (std::uint32_t task = model_->first[begin]; task < last; ++task) {
    if (least_[task] < top && !lift(task, top)) return false;
  }
  return true;
}

void State::list_waiting() {
  const Model& model = *model_;
  waiting_in_ = model.cover.values;
  place_in_.values.assign(place_in_.start.back(), 0);
  for (std::uint32_t s = 0; s < model.sections; ++s) {
    for (std::uint32_t i = 0; i < model.cover[s].size(); ++i) place_of(model.cover[s][i], s) = i;
  }
}

std::uint32_t& State::place_of(std::uint32_t task, std::uint32_t section) {
  const Task& it = model_->tasks[task];
  const std::uint32_t back = section < it.wrapped ? section : section - it.begin + it.wrapped;
  return place_in_.values[place_in_.start[task] + back];
}

void State::take_out(std::uint32_t task, std::uint32_t begin, std::uint32_t end) {
  const Units size = size_[task];
  for (std::uint32_t s = begin; s < end; ++s) {
    left_[s] -= size;
    std::uint32_t* const list = waiting_in_.data() + model_->cover.start[s];
    const std::uint32_t last = --left_count_[s], other = list[last];
    std::uint32_t& place = place_of(task, s);
    list[place] = other;
    list[last] = task;
    place_of(other, s) = place;
    place = last;
  }
  std::uint32_t fewest = 1;
  for (std::uint32_t s = begin; s + 1 < end; ++s) fewest = std::min(fewest, --crossing_[s]);
  parted_ = parted_ || fewest == 0;
}

void State::put_back(std::uint32_t task, std::uint32_t begin, std::uint32_t end) {
  const Units size = size_[task];
  for (std::uint32_t s = begin; s < end; ++s) {
    left_[s] += size;
    ++left_count_[s];
  }
  for (std::uint32_t s = begin; s + 1 < end; ++s) ++crossing_[s];
}

bool State::place(std::uint32_t task) {
  const Task& it = model_->tasks[task];
  const Units at = least_[task];
  offset_[task] = at;
  placed_.push_back(task);
  key_ -= key_of(task, at);
  set_least(task, kGone);
  parted_ = false;
  bearer_begin_ = it.begin;
  bearer_length_ = it.end - it.begin;
  bearer_top_ = at + it.size;
  take_out(task, it.begin, it.end);
  touched_begin_ = it.begin;
  touched_end_ = it.end;
  touched_wrapped_ = it.wrapped;
  if (it.wrapped != 0) {
    take_out(task, 0, it.wrapped);
    parted_ = --crossing_[model_->sections - 1] == 0 || parted_;
    if (!lift_over(0, it.wrapped, at + it.size)) return false;
  }
  return lift_over(it.begin, it.end, at + it.size) && settle();
}

bool State::settle() {
  const std::uint32_t begin = touched_begin_, end = touched_end_, wrapped = touched_wrapped_;
  touched_begin_ = std::numeric_limits<std::uint32_t>::max();
  touched_end_ = touched_wrapped_ = 0;
  const bool hopeful = refloor(0, std::min(wrapped, begin)) && refloor(begin, end);
  bearer_length_ = 0;
  return hopeful;
}

/// In the life of the task placed last, nothing that is left is lower than its top; elsewhere, than the
/// floor.
bool State::refloor(std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t s = begin; s < end; ++s) {
    const bool borne = s - bearer_begin_ < bearer_length_;
    if (least_[witness_[s]] != floor_[s] && !refloor(s, borne ? bearer_top_ : floor_[s])) return false;
  }
  return true;
}

/// The section's witness has risen or is placed; nothing that is left is lower than `at_least`, so a task
/// there ends the search. If that is the old floor, the trail need not know of the new witness: as no least
/// offset is ever below the floor, it is one in all earlier states of this floor too.
bool State::refloor(std::uint32_t section, Units at_least) {
  Units floor = kGone;
  std::uint32_t witness = static_cast<std::uint32_t>(model_->tasks.size());
  const std::span<const std::uint32_t> left = left_in(section);
  std::size_t seen = 0;
  while (seen < left.size() && floor > at_least) {
    const std::uint32_t task = left[seen++];
    if (least_[task] >= floor) continue;
    floor = least_[task];
    witness = task;
  }
  work_ += seen;
  if (floor == floor_[section]) {
    witness_[section] = witness;
    return true;
  }
  floor_trail_.push_back({section, witness_[section], floor_[section]});
  floor_[section] = floor;
  witness_[section] = witness;
  if (floor == kGone) return true;
  if (slack(section) < held_above(section, floor)) return false;
  return !releases_ || idle(section) <= slack(section);
}

/// How much of the section stays empty or is an obstacle's at least, above its floor: as on a machine that
/// does its jobs in the order in which they become known.
Units State::idle(std::uint32_t section) {
  by_least_.clear();
  for (std::uint32_t task : left_in(section)) {
    const Units least = least_[task];
    std::size_t at = by_least_.size();
    by_least_.push_back({task, least});
    for (; at > 0 && by_least_[at - 1].least > least; --at) by_least_[at] = by_least_[at - 1];
    by_least_[at] = {task, least};
  }
  work_ += by_least_.size() * 4;
  Units top = floor_[section], idle = 0;
  for (const OldLimit& next : by_least_) {
    idle += std::max(0, next.least - top);
    top = std::max(top, next.least) + size_[next.task];
  }
  return idle;
}

Units State::held_above(std::uint32_t section, Units floor) const {
  if (!model_->obstacles) return 0;
  Units sum = 0;
  for (const Held& held : model_->held_in_section[section])
    sum += std::max(0, std::min(held.high, capacity_) - std::max(held.low, floor));
  return sum;
}

void State::undo(const Mark& mark) {
  while (limit_trail_.size() > mark.limits) {
    const OldLimit& old = limit_trail_.back();
    if (least_[old.task] != kGone) key_ -= key_of(old.task);
    least_[old.task] = old.least;
    key_ += key_of(old.task);
    limit_trail_.pop_back();
  }
  while (placed_.size() > mark.placed) {
    const std::uint32_t last = placed_.back();
    const Task& task = model_->tasks[last];
    put_back(last, task.begin, task.end);
    if (task.wrapped != 0) {
      put_back(last, 0, task.wrapped);
      ++crossing_[model_->sections - 1];
    }
    placed_.pop_back();
  }
  while (floor_trail_.size() > mark.floors) {
    const OldFloor& old = floor_trail_.back();
    floor_[old.section] = old.floor;
    witness_[old.section] = old.witness;
    floor_trail_.pop_back();
  }
  touched_begin_ = std::numeric_limits<std::uint32_t>::max();
  touched_end_ = touched_wrapped_ = bearer_length_ = 0;
}

}  // namespace stowage::planner::placement::search
