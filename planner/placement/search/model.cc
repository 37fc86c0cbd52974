#include "planner/placement/search/model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace stowage::planner::placement::search {
namespace {

/// The most entries of a table by section and task.
constexpr std::uint64_t kMostCovers = std::uint64_t{1} << 23;

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

/// By rank: the section that begins there or goes on there. A section ends with the first death after a
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

bool meet(const Life& a, const Life& b) {
  if (a.begin < b.end && b.begin < a.end) return true;
  if (a.begin < b.wrapped_end || b.begin < a.wrapped_end) return true;
  return a.wrapped_end != 0 && b.wrapped_end != 0;
}

std::vector<Task> make_tasks(const Instance& instance, const Sections& sections, std::uint64_t unit) {
  std::vector<Task> tasks;
  for (std::uint32_t i = 0; i < instance.pieces.size(); ++i) {
    const Piece& piece = instance.pieces[i];
    const Life span = sections.span(piece.life);
    tasks.push_back({span.begin, span.end, span.wrapped_end, static_cast<Units>(piece.size / unit),
                     static_cast<Units>(piece.alignment / std::gcd(piece.alignment, unit)), i, 0});
  }
  std::sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
    return std::tuple(a.begin, a.end, a.size, a.piece) < std::tuple(b.begin, b.end, b.size, b.piece);
  });
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Units, Units>, std::uint32_t> kinds;
  for (Task& task : tasks) {
    const auto kind = std::tuple(task.begin, task.end, task.wrapped, task.size, task.alignment);
    task.twins = kinds.emplace(kind, static_cast<std::uint32_t>(kinds.size())).first->second;
  }
  return tasks;
}

void fill_tables(Model& model) {
  std::vector<std::vector<std::uint32_t>> cover(model.sections), entering(model.sections);
  model.live.assign(model.sections, 0);
  model.first.assign(model.sections + 1, static_cast<std::uint32_t>(model.tasks.size()));
  for (std::uint32_t i = 0; i < model.tasks.size(); ++i) {
    const Task& task = model.tasks[i];
    for_sections(span_of(task), [&](std::uint32_t s) {
      cover[s].push_back(i);
      if (s != task.begin) entering[s].push_back(i);
      model.live[s] += task.size;
    });
    model.first[task.begin] = std::min(model.first[task.begin], i);
    model.aligned = model.aligned || task.alignment > 1;
    model.wrapped = model.wrapped || task.wrapped != 0;
  }
  for (std::uint32_t s = model.sections; s-- > 0;)
    model.first[s] = std::min(model.first[s], model.first[s + 1]);
  const auto pack = [](const auto& from, auto& to) {
    for (const auto& list : from) {
      to.values.insert(to.values.end(), list.begin(), list.end());
      to.start.push_back(static_cast<std::uint32_t>(to.values.size()));
    }
  };
  pack(cover, model.cover);
  pack(entering, model.entering);
}

/// The union of the obstacles' addresses that meet `span`; `obstacles` are by offset.
void append_held(const Instance& instance, const std::vector<Life>& spans, std::uint64_t unit,
                 const Life& span, Lists<Held>& lists) {
  const std::size_t begin = lists.values.size();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!meet(spans[i], span)) continue;
    const Obstacle& obstacle = instance.obstacles[i];
    const Held held{static_cast<Units>(obstacle.offset / unit),
                    static_cast<Units>((obstacle.offset + obstacle.size) / unit)};
    if (lists.values.size() > begin && lists.values.back().high >= held.low) {
      lists.values.back().high = std::max(lists.values.back().high, held.high);
    } else {
      lists.values.push_back(held);
    }
  }
  lists.start.push_back(static_cast<std::uint32_t>(lists.values.size()));
}

void fill_obstacles(const Instance& instance, const Sections& sections, Model& model) {
  std::vector<Life> spans;
  for (const Obstacle& obstacle : instance.obstacles) spans.push_back(sections.span(obstacle.life));
  for (std::uint32_t s = 0; s < model.sections; ++s)
    append_held(instance, spans, model.unit, Life{s, s + 1, 0}, model.held_in_section);
  for (const Task& task : model.tasks)
    append_held(instance, spans, model.unit, span_of(task), model.held_from_task);
  model.obstacles = !instance.obstacles.empty();
}

}  // namespace

bool supports(const Instance& instance, std::uint64_t capacity) {
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

Model build_model(const Instance& instance, bool reversed) {
  Model model;
  model.unit = unit_of(instance);
  const Sections sections(instance, reversed);
  model.sections = sections.count();
  model.tasks = make_tasks(instance, sections, model.unit);
  fill_tables(model);
  fill_obstacles(instance, sections, model);
  return model;
}

}  // namespace stowage::planner::placement::search
