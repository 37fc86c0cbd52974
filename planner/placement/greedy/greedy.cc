#include "planner/placement/greedy/greedy.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "planner/placement/greedy/boost.h"
#include "planner/placement/greedy/fold.h"
#include "planner/placement/greedy/online.h"
#include "planner/placement/instance/classes.h"
#include "planner/placement/instance/instance.h"
#include "planner/placement/instance/portfolio.h"

namespace stowage::planner::placement {
namespace {

/// Members of the first round that no work limit stops, so that there is always a result, and a good one as a
/// rule: the online one, the folded one and a lowest-first, all near O(n log n). Among obstacles only the
/// first.
constexpr std::size_t kUnlimited = 3;
/// Pieces from which on cutting time pays.
constexpr std::size_t kWorthFolding = 20'000;
/// Pieces times obstacles up to which lowest-first is tried among obstacles: it is quadratic there.
constexpr std::size_t kFewAmongObstacles = 20'000;

struct Placed {
  Draft draft;
  std::string technique;
  std::uint64_t work = 0;
};

Member in_order(const Instance& instance, const char* name, Key key, Fit fit) {
  return {name, [&instance, key, fit](WorkMeter& meter, Draft& draft) {
            return place_in_order(instance, sorted_order(instance, key, meter), fit, meter, draft);
          }};
}

Member lowest_first(const Instance& instance, const char* name, Key key) {
  return {name, [&instance, key](WorkMeter& meter, Draft& draft) {
            return place_lowest_first(instance, sorted_order(instance, key, meter), meter, draft);
          }};
}

/// In order of rank: the cheap ones first. Lowest-first is cheap only without obstacles.
std::vector<Member> first_round(const Instance& instance, const GreedyOptions& options) {
  std::vector<Member> members;
  const auto add = [&](bool wanted, std::vector<Member> more) {
    if (more.size() > options.orders) more.resize(std::max(options.orders, std::size_t{1}));
    if (wanted) members.insert(members.end(), more.begin(), more.end());
  };
  add(options.online && instance.flat(), {{"online best-fit", [&instance](WorkMeter& meter, Draft& draft) {
                                             return place_online(instance, meter, draft);
                                           }}});
  add(options.folding && instance.flat() && instance.pieces.size() >= kWorthFolding,
      {{"folded lowest-first", [&instance](WorkMeter& meter, Draft& draft) {
          return place_folded(instance, Key::kDuration, meter, draft);
        }}});
  add(options.lowest_first && instance.flat(),
      {lowest_first(instance, "lowest-first/lifetime", Key::kDuration),
       lowest_first(instance, "lowest-first/area", Key::kArea),
       lowest_first(instance, "lowest-first/size", Key::kSize),
       lowest_first(instance, "lowest-first/birth", Key::kBirth),
       lowest_first(instance, "lowest-first/end", Key::kEnd)});
  add(options.first_fit || members.empty(),
      {in_order(instance, "first-fit/size", Key::kSize, Fit::kFirst),
       in_order(instance, "first-fit/lifetime", Key::kDuration, Fit::kFirst),
       in_order(instance, "first-fit/area", Key::kArea, Fit::kFirst),
       in_order(instance, "first-fit/birth", Key::kBirth, Fit::kFirst)});
  add(options.best_fit, {in_order(instance, "best-fit/size", Key::kSize, Fit::kBest),
                         in_order(instance, "best-fit/area", Key::kArea, Fit::kBest),
                         in_order(instance, "best-fit/lifetime", Key::kDuration, Fit::kBest),
                         in_order(instance, "best-fit/birth", Key::kBirth, Fit::kBest)});
  const bool few = instance.pieces.size() * instance.obstacles.size() < kFewAmongObstacles;
  add(options.lowest_first && !instance.flat() && few,
      {lowest_first(instance, "lowest-first/lifetime", Key::kDuration),
       lowest_first(instance, "lowest-first/size", Key::kSize)});
  return members;
}

/// Pieces from the bottom up: first-fit by it gives a placement that is no higher anywhere it matters.
std::vector<std::uint32_t> order_by_offset(const Draft& draft, WorkMeter& meter) {
  std::vector<std::uint32_t> order(draft.offsets.size());
  std::iota(order.begin(), order.end(), 0u);
  sort_by_keys(order, draft.offsets, meter);
  return order;
}

/// Without a key, by the offsets of the best draft.
Member booster(const Instance& instance, const Draft& best, const char* name, std::optional<Key> key,
               std::uint64_t seed, BoostBy by, int patience, Raise raise = Raise::kAnywhere) {
  return {name, [&instance, &best, key, seed, by, patience, raise](WorkMeter& meter, Draft& draft) {
            auto order = key ? sorted_order(instance, *key, meter) : order_by_offset(best, meter);
            if (meter.out()) return false;  // before memory is touched
            draft = best;
            boost(instance, std::move(order), seed, meter, draft, by, patience, raise);
            return true;
          }};
}

std::vector<Member> second_round(const Instance& instance, const Draft& best, const GreedyOptions& options) {
  const bool lowest = options.lowest_first && instance.flat();
  const int patience = instance.flat() ? options.patience : options.patience / 10;
  std::vector<Member> members;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    if (lowest) {
      const auto add = [&](const char* name, Key key, Raise raise = Raise::kAnywhere) {
        members.push_back(booster(instance, best, name, key, seed, BoostBy::kLowestFirst, patience, raise));
      };
      add("boost-far/end", Key::kEnd, Raise::kFar);
      add("boost-lowest/lifetime", Key::kDuration);
      add("boost-far/area", Key::kArea, Raise::kFar);
      add("boost-lowest/area", Key::kArea);
      add("boost-lowest/birth", Key::kBirth);
      add("boost-lowest/size", Key::kSize);
    }
    if (options.first_fit || !lowest) {
      for (const auto& [name, key] : {std::pair{"boost/size", std::optional(Key::kSize)},
                                      {"boost/area", std::optional(Key::kArea)},
                                      {"boost/lifetime", std::optional(Key::kDuration)},
                                      {"boost/best", std::optional<Key>()}})
        members.push_back(booster(instance, best, name, key, seed, BoostBy::kFirstFit, patience));
    }
  }
  return members;
}

/// The capacity matters to the last class only: those before it must leave room.
std::uint64_t goal_of(const Problem& problem, const Instance& instance, bool last,
                      const GreedyOptions& options) {
  const double near = static_cast<double>(instance.bound) * options.tolerance;
  const std::uint64_t goal = instance.bound + static_cast<std::uint64_t>(near);
  return problem.capacity && last ? std::max(goal, problem.capacity->value()) : goal;
}

/// The first round in two, so that the near-linear members' result can be shown before the others begin.
struct FirstRound {
  std::vector<Member> quick;
  std::vector<Member> slow;
};

FirstRound split(std::vector<Member> members, const Instance& instance, const GreedyOptions& options) {
  const bool cut = instance.flat() && instance.pieces.size() >= kWorthFolding;
  std::size_t near_linear = 0;
  if (cut && options.online) ++near_linear;
  if (cut && options.folding) ++near_linear;
  FirstRound round{std::move(members), {}};
  if (near_linear == 0 || near_linear >= round.quick.size()) return round;
  const auto from = round.quick.begin() + static_cast<std::ptrdiff_t>(near_linear);
  round.slow.assign(std::make_move_iterator(from), std::make_move_iterator(round.quick.end()));
  round.quick.erase(from, round.quick.end());
  return round;
}

/// Runs members and takes their result over if it is lower. False if there is none.
bool run_and_take(const Instance& instance, const std::vector<Member>& members, const GreedyOptions& options,
                  std::uint64_t work, const Privileged& privileged, Placed& placed) {
  auto result =
      run_portfolio(instance, members, options.limits, work / members.size(), privileged, options.threads);
  if (!result) return false;
  placed.work += result->work;
  if (!placed.draft.offsets.empty() && result->draft.height >= placed.draft.height) return true;
  placed.draft = std::move(result->draft);
  placed.technique = members[result->winner].name;
  return true;
}

using OnStage = std::function<void(const Placed&)>;

std::optional<Placed> place_class(const Instance& instance, const GreedyOptions& options,
                                  const OnStage& on_stage) {
  std::vector<Member> all = first_round(instance, options);
  const std::uint64_t limit = options.limits.work_limit;
  const std::uint64_t share = limit / all.size();
  const FirstRound first = split(std::move(all), instance, options);
  const std::size_t quick = first.quick.size(), unlimited = instance.flat() ? kUnlimited : 1;
  const auto over = [&](const Placed& placed) {
    return placed.draft.height <= instance.low_enough() || options.limits.over();
  };
  Placed placed;
  if (!run_and_take(instance, first.quick, options, share * quick, {unlimited, 1}, placed))
    return std::nullopt;
  if (!first.slow.empty() && !over(placed)) {
    if (on_stage && !options.limits.stopped()) on_stage(placed);
    run_and_take(instance, first.slow, options, share * first.slow.size(),
                 {unlimited - std::min(unlimited, quick), 0}, placed);
  }
  if (!options.boosting || over(placed)) return placed;
  if (on_stage && !first.slow.empty() && !options.limits.stopped()) on_stage(placed);
  const std::uint64_t left = limit > placed.work ? limit - placed.work : 0;
  const Draft best = placed.draft;  // stays as it is while boosters read it
  run_and_take(instance, second_round(instance, best, options), options, left, {}, placed);
  return placed;
}

Error cancelled() { return Error{ErrorCode::kCancelled, "placement was cancelled"}; }

/// Offsets of items that no class places: those that occupy nothing, and those that are fixed.
void place_given(const Problem& problem, Solution& solution) {
  solution.offsets.assign(problem.items.size(), Offset(0));
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (problem.items[i].fixed) solution.offsets[i] = *problem.items[i].fixed;
  }
}

/// Puts in what was placed of one class.
void put_in(const Instance& instance, const Placed& placed, Solution& solution) {
  for (std::size_t p = 0; p < instance.pieces.size(); ++p)
    solution.offsets[instance.pieces[p].item] = Offset(placed.draft.offsets[p]);
  if (solution.technique.empty()) solution.technique = placed.technique;
  solution.work += placed.work;
}

void complete(const Problem& problem, Solution& solution) {
  solution.height = height_of(problem, solution.offsets);
  if (solution.technique.empty()) solution.technique = "given";
  solution.proved_optimal = solution.height == solution.lower_bound;
}

}  // namespace

Result<Solution> place_greedily(const Problem& problem, const GreedyOptions& options) {
  if (Status status = check_problem(problem); !status) return status.error();
  if (options.limits.stopped()) return cancelled();
  Solution solution;
  place_given(problem, solution);
  if (options.limits.stopped()) return cancelled();
  const std::vector<std::uint32_t> classes = stream_classes(problem);
  std::vector<Instance> instances = instances_of(problem, classes, options.limits);
  if (options.limits.stopped()) return cancelled();
  GreedyOptions own = options;
  own.limits.work_limit = options.limits.work_limit / std::max<std::size_t>(classes.size(), 1);
  if (options.limits.stopped()) return cancelled();
  solution.lower_bound = least_height(problem, instances);
  std::vector<std::uint32_t> done;
  for (Instance& instance : instances) {
    hold_ranges(instance, held_by_others(problem, solution, done, instance.stream_class));
    instance.goal = goal_of(problem, instance, &instance == &instances.back(), options);
    if (options.check_fixed) {
      if (Status status = check_obstacles(instance, options.limits); !status) return status.error();
    }
    if (options.limits.stopped()) return cancelled();
    done.push_back(instance.stream_class);
    if (instance.pieces.empty()) continue;
    OnStage on_stage;
    if (options.on_stage && classes.size() == 1) {
      on_stage = [&](const Placed& quick) {
        Solution first = solution;
        put_in(instance, quick, first);
        if (options.limits.stopped()) return;
        complete(problem, first);
        if (!options.limits.stopped()) options.on_stage(std::move(first));
      };
    }
    const auto placed = place_class(instance, own, on_stage);
    if (!placed || options.limits.stopped()) return cancelled();
    put_in(instance, *placed, solution);
    if (options.limits.stopped()) return cancelled();
    instance = {};  // tens of megabytes, to be returned before the next look
  }
  if (options.limits.stopped()) return cancelled();
  complete(problem, solution);
  return solution;
}

}  // namespace stowage::planner::placement
