#include "planner/placement/search/state.h"

#include <algorithm>

namespace stowage::planner::placement::search {
namespace {

/// A bijection of 64 bits that spreads every bit (Steele, Lea and Flood: SplitMix, 2014).
constexpr std::uint64_t spread(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Units align(Units offset, Units alignment) {
  const Units over = offset % alignment;
  return over == 0 ? offset : offset + (alignment - over);
}

}  // namespace

State::State(const Model& model, Units capacity) : model_(&model), capacity_(capacity) {
  const std::size_t tasks = model.tasks.size();
  least_.assign(tasks + 1, kGone);
  offset_.assign(tasks, 0);
  floor_.assign(model.sections, kGone);
  left_.assign(model.sections, 0);
  witness_.assign(model.sections, static_cast<std::uint32_t>(tasks));
  crossing_.assign(model.sections, 0);
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
    put_back(task.begin, task.end, task.size);
    if (task.wrapped == 0) continue;
    put_back(0, task.wrapped, task.size);
    ++crossing_[model.sections - 1];
  }
  for (std::uint32_t s = 0; hopeful_ && s < model.sections; ++s) hopeful_ = refloor(s);
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

void State::take_out(std::uint32_t begin, std::uint32_t end, Units size) {
  for (std::uint32_t s = begin; s < end; ++s) left_[s] -= size;
  std::uint32_t fewest = 1;
  for (std::uint32_t s = begin; s + 1 < end; ++s) fewest = std::min(fewest, --crossing_[s]);
  parted_ = parted_ || fewest == 0;
}

void State::put_back(std::uint32_t begin, std::uint32_t end, Units size) {
  for (std::uint32_t s = begin; s < end; ++s) left_[s] += size;
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
  take_out(it.begin, it.end, it.size);
  touched_begin_ = it.begin;
  touched_end_ = it.end;
  touched_wrapped_ = it.wrapped;
  if (it.wrapped != 0) {
    take_out(0, it.wrapped, it.size);
    parted_ = --crossing_[model_->sections - 1] == 0 || parted_;
    if (!lift_over(0, it.wrapped, at + it.size)) return false;
  }
  return lift_over(it.begin, it.end, at + it.size) && settle();
}

bool State::settle() {
  const std::uint32_t begin = touched_begin_, end = touched_end_, wrapped = touched_wrapped_;
  touched_begin_ = std::numeric_limits<std::uint32_t>::max();
  touched_end_ = touched_wrapped_ = 0;
  return refloor(0, std::min(wrapped, begin)) && refloor(begin, end);
}

bool State::refloor(std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t s = begin; s < end; ++s) {
    if (least_[witness_[s]] != floor_[s] && !refloor(s)) return false;
  }
  return true;
}

bool State::refloor(std::uint32_t section) {
  Units floor = kGone;
  std::uint32_t witness = static_cast<std::uint32_t>(model_->tasks.size());
  for (std::uint32_t task : model_->cover[section]) {
    if (least_[task] < floor) {
      floor = least_[task];
      witness = task;
    }
  }
  work_ += model_->cover[section].size();
  floor_trail_.push_back({section, witness_[section], floor_[section]});
  floor_[section] = floor;
  witness_[section] = witness;
  if (floor == kGone) return true;
  return slack(section) >= held_above(section, floor);
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
    const Task& task = model_->tasks[placed_.back()];
    put_back(task.begin, task.end, task.size);
    if (task.wrapped != 0) {
      put_back(0, task.wrapped, task.size);
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
  touched_end_ = touched_wrapped_ = 0;
}

}  // namespace stowage::planner::placement::search
