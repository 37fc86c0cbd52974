#include "planner/placement/search/state/model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace stowage::planner::placement::search {
namespace {

/// The most entries of a table by section and task.
constexpr std::uint64_t kMostCovers = std::uint64_t{1} << 23;
/// A search among more pieces ends nowhere, and preparing it could not be stopped within milliseconds.
constexpr std::size_t kMostPieces = 40'000;

/// The largest divisor of all sizes and held addresses such that placements on its multiples lose nothing: an
/// alignment either divides it, and then never matters, or is a multiple of it.
std::uint64_t unit_of(const Instance& instance) {
  std::uint64_t unit = 0;
  for (const Piece& piece : instance.pieces) unit = std::gcd(unit, piece.size);
  for (const Obstacle& obstacle : instance.obstacles)
    unit = std::gcd(unit, std::gcd(obstacle.offset, obstacle.size));
  if (unit == 0) return 1;
  for (const Piece& piece : instance.pieces) {
    if (unit % piece.alignment != 0) unit = std::gcd(unit, piece.alignment);
  }
  return unit;
}

Life mirrored(const Life& life, std::uint32_t ranks) {
  if (life.wrapped_end == 0) return {ranks - life.end, ranks - life.begin, 0};
  return {ranks - life.wrapped_end, ranks, ranks - life.begin};
}

/// By rank: the section that begins or continues there. A section ends with the first death after a
/// birth.
class Sections {
 public:
  Sections(const Instance& instance, bool reversed)
      : ranks_(instance.ranks), reversed_(reversed), born_(ranks_ + 1, 0), dies_(ranks_ + 1, 0) {
    for (const Piece& piece : instance.pieces) mark(life(piece.life));
    for (const Obstacle& obstacle : instance.obstacles) mark(life(obstacle.life));
    at_.resize(ranks_ + 1);
    bool open = false;
    for (std::uint32_t rank = 0; rank <= ranks_; ++rank) {
      if (open && dies_[rank] != 0) {
        ++count_;
        open = false;
      }
      open = open || born_[rank] != 0;
      at_[rank] = count_;
    }
  }

  [[nodiscard]] Life life(const Life& given) const { return reversed_ ? mirrored(given, ranks_) : given; }
  [[nodiscard]] Life span(const Life& given) const {
    const Life ranks = life(given);
    return {at_[ranks.begin], at_[ranks.end], ranks.wrapped_end == 0 ? 0 : at_[ranks.wrapped_end]};
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  void mark(const Life& life) {
    born_[life.begin] = dies_[life.end] = 1;
    if (life.wrapped_end != 0) born_[0] = dies_[life.wrapped_end] = 1;
  }

  std::uint32_t ranks_;
  bool reversed_;
  std::vector<char> born_, dies_;
  std::vector<std::uint32_t> at_;
  std::uint32_t count_ = 0;
};

template <class F>
void for_sections(const Life& span, const F& f) {
  for (std::uint32_t s = 0; s < std::min(span.wrapped_end, span.begin); ++s) f(s);
  for (std::uint32_t s = span.begin; s < span.end; ++s) f(s);
}

Life span_of(const Task& task) { return {task.begin, task.end, task.wrapped}; }

/// Not to be used after a stop.
std::vector<Task> make_tasks(const Instance& instance, const Sections& sections, std::uint64_t unit,
                             const Limits& limits) {
  constexpr std::uint32_t kLookEvery = 4096;  // tasks
  std::vector<Task> tasks;
  for (std::uint32_t i = 0; i < instance.pieces.size(); ++i) {
    const Piece& piece = instance.pieces[i];
    const Life span = sections.span(piece.life);
    tasks.push_back({span.begin, span.end, span.wrapped_end, static_cast<Units>(piece.size / unit),
                     static_cast<Units>(piece.alignment / std::gcd(piece.alignment, unit)), i, 0});
  }
  if (limits.stopped()) return tasks;
  std::sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
    return std::tuple(a.begin, a.end, a.size, a.piece) < std::tuple(b.begin, b.end, b.size, b.piece);
  });
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Units, Units>, std::uint32_t> kinds;
  std::uint32_t seen = 0;
  for (Task& task : tasks) {
    if (seen++ % kLookEvery == 0 && limits.stopped()) return tasks;
    const auto kind = std::tuple(task.begin, task.end, task.wrapped, task.size, task.alignment);
    task.twins = kinds.emplace(kind, static_cast<std::uint32_t>(kinds.size())).first->second;
  }
  return tasks;
}

/// Sections with something in them, back to back; `count` says how many each has, `put` calls its argument
/// with (section, task) for each of these.
template <class Put>
Lists<std::uint32_t> listed(const std::vector<std::uint32_t>& count, const Put& put) {
  Lists<std::uint32_t> lists;
  lists.start.resize(count.size() + 1, 0);
  std::partial_sum(count.begin(), count.end(), lists.start.begin() + 1);
  lists.values.resize(lists.start.back());
  std::vector<std::uint32_t> next(lists.start);
  put([&](std::uint32_t s, std::uint32_t task) { lists.values[next[s]++] = task; });
  return lists;
}

void fill_tables(const Limits& limits, Model& model) {
  constexpr std::size_t kLookEvery = 1024;  // tasks
  const auto for_tasks = [&](const auto& f) {
    for (std::uint32_t i = 0; i < model.tasks.size(); ++i) {
      if (i % kLookEvery == 0 && limits.stopped()) return;
      for_sections(span_of(model.tasks[i]), [&](std::uint32_t s) { f(s, i); });
    }
  };
  std::vector<std::uint32_t> alive(model.sections, 0), entering(model.sections, 0);
  model.live.assign(model.sections, 0);
  for_tasks([&](std::uint32_t s, std::uint32_t i) {
    const Task& task = model.tasks[i];
    ++alive[s];
    entering[s] += s != task.begin ? 1 : 0;
    model.live[s] += task.size;
  });
  model.cover = listed(alive, for_tasks);
  model.entering = listed(entering, [&](const auto& put) {
    for_tasks([&](std::uint32_t s, std::uint32_t i) {
      if (s != model.tasks[i].begin) put(s, i);
    });
  });
  model.first.assign(model.sections + 1, static_cast<std::uint32_t>(model.tasks.size()));
  for (std::uint32_t i = 0; i < model.tasks.size(); ++i) {
    const Task& task = model.tasks[i];
    model.first[task.begin] = std::min(model.first[task.begin], i);
    model.aligned = model.aligned || task.alignment > 1;
    model.wrapped = model.wrapped || task.wrapped != 0;
  }
  for (std::uint32_t s = model.sections; s-- > 0;)
    model.first[s] = std::min(model.first[s], model.first[s + 1]);
}

/// Obstacles by the sections in which they are there, and by those in which they begin to be.
class Presence {
 public:
  Presence(const Instance& instance, const Sections& sections, std::uint64_t unit)
      : there_(sections.count()), begins_(sections.count()) {
    for (std::uint32_t i = 0; i < instance.obstacles.size(); ++i) {
      const Obstacle& obstacle = instance.obstacles[i];
      const Life span = sections.span(obstacle.life);
      held_.push_back({static_cast<Units>(obstacle.offset / unit),
                       static_cast<Units>((obstacle.offset + obstacle.size) / unit)});
      for_sections(span, [&](std::uint32_t s) { there_[s].push_back(i); });
      if (span.begin < span.end) begins_[span.begin].push_back(i);
    }
  }

  /// Adds the union of the addresses that are held at some time of `span` as the next list.
  void append(const Life& span, Lists<Held>& lists) {
    found_.clear();
    add(span.begin, span.end);
    add(0, span.wrapped_end);
    std::sort(found_.begin(), found_.end());  // by offset, as the instance has them
    const std::size_t begin = lists.values.size();
    for (std::uint32_t i : found_) {
      if (lists.values.size() > begin && lists.values.back().high >= held_[i].low) {
        lists.values.back().high = std::max(lists.values.back().high, held_[i].high);
      } else {
        lists.values.push_back(held_[i]);
      }
    }
    lists.start.push_back(static_cast<std::uint32_t>(lists.values.size()));
  }

 private:
  void add(std::uint32_t begin, std::uint32_t end) {
    if (begin >= end) return;
    found_.insert(found_.end(), there_[begin].begin(), there_[begin].end());
    for (std::uint32_t s = begin + 1; s < end; ++s)
      found_.insert(found_.end(), begins_[s].begin(), begins_[s].end());
  }

  std::vector<Held> held_;
  std::vector<std::vector<std::uint32_t>> there_, begins_;  ///< obstacles by section
  std::vector<std::uint32_t> found_;
};

void fill_obstacles(const Instance& instance, const Sections& sections, const Limits& limits, Model& model) {
  constexpr std::size_t kLookEvery = 256;  // tasks or sections
  model.obstacles = !instance.obstacles.empty();
  if (!model.obstacles) {
    model.held_in_section.start.resize(model.sections + 1, 0);
    model.held_from_task.start.resize(model.tasks.size() + 1, 0);
    return;
  }
  Presence presence(instance, sections, model.unit);
  for (std::uint32_t s = 0; s < model.sections; ++s) {
    if (s % kLookEvery == 0 && limits.stopped()) return;
    presence.append(Life{s, s + 1, 0}, model.held_in_section);
  }
  for (std::size_t i = 0; i < model.tasks.size(); ++i) {
    if (i % kLookEvery == 0 && limits.stopped()) return;
    presence.append(span_of(model.tasks[i]), model.held_from_task);
  }
}

}  // namespace

bool supports(const Instance& instance, std::uint64_t capacity) {
  if (instance.pieces.size() > kMostPieces) return false;
  std::uint64_t highest = capacity;
  std::uint64_t covers = 0;
  const auto add = [&](const Life& life, std::uint64_t end) {
    covers += life.end - life.begin + life.wrapped_end;
    highest = std::max(highest, end);
  };
  for (const Piece& piece : instance.pieces) add(piece.life, std::max(piece.size, piece.alignment));
  for (const Obstacle& obstacle : instance.obstacles) add(obstacle.life, obstacle.offset + obstacle.size);
  return covers <= kMostCovers && highest / unit_of(instance) < static_cast<std::uint64_t>(kMostUnits);
}

Model build_model(const Instance& instance, bool reversed, const Limits& limits) {
  Model model;
  if (limits.stopped()) return model;
  model.unit = unit_of(instance);
  const Sections sections(instance, reversed);
  model.sections = sections.count();
  model.tasks = make_tasks(instance, sections, model.unit, limits);
  if (limits.stopped()) return model;
  fill_tables(limits, model);
  fill_obstacles(instance, sections, limits, model);
  return model;
}

}  // namespace stowage::planner::placement::search
