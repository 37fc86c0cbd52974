#include "planner/placement/search/branching.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

namespace stowage::planner::placement::search {
namespace {

bool alive_in(const Task& task, std::uint32_t section) {
  return (task.begin <= section && section < task.end) || section < task.wrapped;
}

/// Larger comes first. `width`: sections; `tightness`: live units where it lives, against the most.
double rank(Order order, double width, double size, double tightness) {
  const double length = std::log(width), area = length + std::log(size);
  switch (order) {
    case Order::kDuration:
      return length * 3 + area * 0.1;
    case Order::kTightness:
      return tightness * 10 + area * 0.3;
    case Order::kArea:
      return area;
    case Order::kSize:
      return std::log(size) * 3 + area * 0.1;
    case Order::kTightDuration:
      return tightness * 10 + length;
    case Order::kTightLongArea:
      return tightness * 1e4 + length * 10 + area * 0.1;
    case Order::kDurationTightness:
      return length + tightness * 5;
  }
  return 0;
}

}  // namespace

Brancher::Brancher(const State& state, const SearchOptions& options)
    : state_(&state),
      options_(&options),
      priority_(state.model().tasks.size(), 0),
      count_(state.model().sections + 1, 0),
      low_(state.model().sections, 0) {}

void Brancher::set_order(Order order, Rule rule, double noise, std::uint64_t seed) {
  const Model& model = state_->model();
  rule_ = rule == Rule::kAnywhere && model.wrapped ? Rule::kFewest : rule;
  std::mt19937_64 random(seed);
  const auto most = static_cast<double>(*std::max_element(model.live.begin(), model.live.end()));
  for (std::uint32_t i = 0; i < model.tasks.size(); ++i) {
    const Task& task = model.tasks[i];
    std::int64_t live = 0;
    for (std::uint32_t s = task.begin; s < task.end; ++s) live = std::max(live, model.live[s]);
    for (std::uint32_t s = 0; s < task.wrapped; ++s) live = std::max(live, model.live[s]);
    const double shake = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    priority_[i] =
        rank(order, task.end - task.begin + task.wrapped, task.size, static_cast<double>(live) / most) +
        noise * shake;
  }
}

Units Brancher::lowest_floor(const Range& range) const {
  Units lowest = kGone;
  for_stretches(range, state_->model().sections, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t s = begin; s < end; ++s) lowest = std::min(lowest, state_->floor(s));
  });
  return lowest;
}

void Brancher::find_low(const Range& range, Units level) {
  for_stretches(range, state_->model().sections, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t s = begin; s < end; ++s) low_[s] = state_->floor(s) == level;
  });
}

/// Requires: time does not go round.
void Brancher::find_low_anywhere(const Range& range) {
  Units before = kGone;
  for (std::uint32_t s = range.begin; s < range.end;) {
    const Units level = state_->floor(s);
    std::uint32_t end = s;
    while (end < range.end && state_->floor(end) == level) ++end;
    const bool low = before > level && (end == range.end || state_->floor(end) > level) && level != kGone;
    std::fill(low_.begin() + s, low_.begin() + end, low);
    before = level;
    s = end;
  }
}

/// The tasks that can lie on the low floors. One whose least offset is the floor where it begins lies within
/// that plateau, as no floor of its life is above its least offset.
void Brancher::find_candidates(const Range& range) {
  const Model& model = state_->model();
  found_.clear();
  for_stretches(range, model.sections, [&](std::uint32_t begin, std::uint32_t end) {
    work_ += model.first[end] - model.first[begin] + end - begin;
    for (std::uint32_t task = model.first[begin]; task < model.first[end]; ++task) {
      const std::uint32_t section = model.tasks[task].begin;
      if (state_->least(task) == state_->floor(section) && low_[section]) found_.push_back(task);
    }
  });
}

void Brancher::count_candidates(const Range& range) {
  const Model& model = state_->model();
  for_stretches(range, model.sections, [&](std::uint32_t begin, std::uint32_t end) {
    std::fill(count_.begin() + begin, count_.begin() + end, 0);
  });
  for (std::uint32_t i : found_) {
    const Task& task = model.tasks[i];
    ++count_[task.begin];
    --count_[task.end];
    if (task.wrapped == 0) continue;
    ++count_[0];
    --count_[task.wrapped];
  }
  for_stretches(range, model.sections, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t s = begin + 1; s < end; ++s) count_[s] += count_[s - 1];
  });
}

/// The section of fewest ways to continue; of equals the one of least slack.
std::uint32_t Brancher::fewest(const Range& range) const {
  std::pair<std::int32_t, Units> least{kGone, kGone};
  std::uint32_t best = 0;
  for_stretches(range, state_->model().sections, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t s = begin; s < end; ++s) {
      if (!low_[s]) continue;
      const Units slack = state_->slack(s);
      const std::pair key{count_[s] + (slack > 0 ? 1 : 0), slack};
      if (key < least) {
        least = key;
        best = s;
      }
    }
  });
  return best;
}

std::uint32_t Brancher::fewest_of_first() const {
  std::uint32_t first = found_.front();
  for (std::uint32_t task : found_) {
    if (priority_[task] > priority_[first]) first = task;
  }
  const Task& task = state_->model().tasks[first];
  return fewest({task.begin, task.end});
}

/// Such a task may as well lie on the floor: all that would be below it can be moved above it.
bool Brancher::lies_below_all(std::uint32_t task, const Range& range) const {
  const Model& model = state_->model();
  const Task& it = model.tasks[task];
  if (model.aligned || model.obstacles || model.wrapped) return false;
  return it.begin <= range.begin && range.end <= it.end;
}

bool Brancher::choose(const Range& range, std::vector<std::uint32_t>& tasks, Choice& choice) {
  if (rule_ == Rule::kAnywhere) {
    find_low_anywhere(range);
  } else {
    const Units level = lowest_floor(range);
    if (level == kGone) return false;
    find_low(range, level);
  }
  find_candidates(range);
  if (found_.empty()) return false;
  count_candidates(range);
  choice.section = rule_ == Rule::kPriority ? fewest_of_first() : fewest(range);
  choice.level = state_->floor(choice.section);
  choice.forced = false;
  const std::size_t begin = tasks.size();
  const Model& model = state_->model();
  for (std::uint32_t task : found_) {
    if (!alive_in(model.tasks[task], choice.section)) continue;
    if (lies_below_all(task, range)) {
      tasks.resize(begin);
      tasks.push_back(task);
      choice.forced = true;
      return true;
    }
    const auto twin = [&](std::uint32_t other) {
      return model.tasks[other].twins == model.tasks[task].twins;
    };
    if (options_->twins && std::any_of(tasks.begin() + static_cast<std::ptrdiff_t>(begin), tasks.end(), twin))
      continue;
    std::size_t at = tasks.size();
    tasks.push_back(task);
    for (; at > begin && priority_[tasks[at - 1]] < priority_[task]; --at) tasks[at] = tasks[at - 1];
    tasks[at] = task;
  }
  return true;
}

/// The lowest place where the task could lie on one that is left and not alive in `section`, or on an
/// obstacle; kGone if there is none.
Units Brancher::support(std::uint32_t task, std::uint32_t section) {
  const Model& model = state_->model();
  const Task& it = model.tasks[task];
  Units lowest = kGone;
  const auto look = [&](std::uint32_t other) {
    const Units least = state_->least(other);
    if (least >= lowest || other == task) return;
    const Task& below = model.tasks[other];
    if (!options_->lift || !alive_in(below, section)) lowest = std::min(lowest, least + below.size);
  };
  const auto look_over = [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t other : model.entering[begin]) look(other);
    for (std::uint32_t other = model.first[begin]; other < model.first[end]; ++other) look(other);
    work_ += model.entering[begin].size() + model.first[end] - model.first[begin];
  };
  look_over(it.begin, it.end);
  if (it.wrapped != 0) look_over(0, it.wrapped);
  if (model.obstacles) {
    for (const Held& held : model.held_from_task[task]) {
      if (held.high > state_->least(task)) lowest = std::min(lowest, held.high);
    }
  }
  return lowest;
}

/// A task of the section lies on something outside it, or on another task of the section, which then lies at
/// the section's new floor or above.
bool Brancher::waste(const Choice& choice, State& state) {
  const Model& model = state.model();
  rises_.clear();
  Units floor = kGone;
  for (std::uint32_t task : state.left_in(choice.section)) {
    const Units least = state.least(task);
    if (least == choice.level) rises_.push_back({task, support(task, choice.section)});
    floor = std::min(floor, least == choice.level ? rises_.back().support : least);
  }
  if (floor == kGone) return false;
  std::uint32_t lowest_other = 0;
  Units best = kGone, second = kGone;  // the lowest tops of the section's tasks
  for (std::uint32_t task : state.left_in(choice.section)) {
    const Units least = state.least(task);
    const Units top = std::max(least, floor) + model.tasks[task].size;
    if (top < best) {
      second = best;
      best = top;
      lowest_other = task;
    } else {
      second = std::min(second, top);
    }
  }
  for (const Rise& rise : rises_) {
    const Units inside = rise.task == lowest_other ? second : best;
    const Units bearing = std::min(rise.support, inside);
    if (bearing > state.capacity()) return false;
    const Units least = state.fit(rise.task, bearing);
    if (least > state.capacity() - model.tasks[rise.task].size) return false;
    state.raise(rise.task, least);
  }
  return state.settle();
}

}  // namespace stowage::planner::placement::search
