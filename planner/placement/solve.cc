#include "planner/placement/solve.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "planner/placement/greedy/greedy.h"
#include "planner/placement/instance/offset_index.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/proofs/conflict.h"
#include "planner/placement/refine.h"

namespace stowage::planner::placement {
namespace {

/// How far a time limit may be passed to validate a placement that is better than the one shown.
constexpr double kGraceSeconds = 0.05;

using Clock = std::chrono::steady_clock;

Error bad_option(const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, "placement: " + what + "; correct it and try again"};
}

Status check_options(const PlaceOptions& options) {
  if (!(options.time_limit_s > 0 && options.time_limit_s <= 1e6))
    return bad_option("the time limit must be above 0 and at most 1e6 seconds");
  if (options.threads < 0) return bad_option("the number of threads must not be negative");
  if (options.work_limit == 0) return bad_option("the work limit must not be 0");
  return {};
}

Limits limits_of(const PlaceOptions& options) {
  Limits limits;
  limits.work_limit = options.work_limit;
  limits.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(options.time_limit_s));
  limits.shared = options.shared_work;
  limits.stop = options.stop;
  limits.on_look = options.on_look;
  return limits;
}

/// True if the classes can be placed apart and then stacked: nothing ties one to addresses.
bool separable(const Problem& problem) {
  return problem.regions.empty() && std::none_of(problem.items.begin(), problem.items.end(),
                                                 [](const Item& item) { return item.fixed.has_value(); });
}

/// The items of one class, with their indices in the problem.
struct ClassPart {
  Problem problem;
  std::vector<std::uint32_t> items;
  std::uint64_t alignment = 1;  ///< a base that is a multiple of it keeps every item aligned; 0: too large
};

ClassPart part_of(const Problem& problem, std::uint32_t stream_class) {
  constexpr std::uint64_t kMostAlignment = std::uint64_t{1} << 40;
  ClassPart part;
  part.problem.period = problem.period;
  std::size_t g = 0;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    const bool own = item.stream_class == stream_class;
    for (; g < problem.gaps.size() && problem.gaps[g].item == i; ++g) {
      if (!own) continue;
      part.problem.gaps.push_back(problem.gaps[g]);
      part.problem.gaps.back().item = static_cast<std::uint32_t>(part.items.size());
    }
    if (!own) continue;
    part.items.push_back(i);
    part.problem.items.push_back(item);
    if (part.alignment == 0) continue;
    const std::uint64_t factor = item.alignment.value() / std::gcd(part.alignment, item.alignment.value());
    part.alignment = factor > kMostAlignment / part.alignment ? 0 : part.alignment * factor;
  }
  return part;
}

/// One call of place().
class Solver {
 public:
  Solver(const Problem& problem, const PlaceOptions& options)
      : problem_(problem), options_(options), limits_(limits_of(options)) {}

  Result<Solution> run() {
    if (Status status = start(); !status) return status.error();
    if (!done()) improve();
    if (!fits(problem_, best_)) explain();
    if (options_.stop.stop_requested()) return Error{ErrorCode::kCancelled, "placement was cancelled"};
    return std::move(best_);
  }

 private:
  /// The first placement: greedy orders.
  Status start() {
    GreedyOptions greedy;
    greedy.limits = limits_;
    greedy.threads = options_.threads;
    greedy.boosting = options_.techniques.boosting && !exact_comes_first();
    greedy.on_stage = [this](Solution&& stage) { show_stage(std::move(stage)); };
    Result<Solution> placed = place_greedily(problem_, greedy);
    if (!placed) return placed.error();
    if (has_first() && (placed->height >= best_.height || seconds_left() + kGraceSeconds < validation_s_)) {
      best_.work = placed->work;
      return {};
    }
    if (Status status = validate_placement(problem_, *placed, limits_); !status) return status.error();
    best_ = *std::move(placed);
    show();
    return {};
  }

  /// A large problem's placement so far: what there is if the time ends before a better one is validated too.
  void show_stage(Solution&& stage) {
    if (has_first() && stage.height >= best_.height) return;
    const Clock::time_point begun = Clock::now();
    if (!validate_placement(problem_, stage, limits_)) return;
    validation_s_ = std::chrono::duration<double>(Clock::now() - begun).count();
    best_ = std::move(stage);
    show();
  }
  [[nodiscard]] bool has_first() const { return !best_.offsets.empty(); }

  /// Small problems are for exact search, which boosting would only hold up, if improve() can use it.
  [[nodiscard]] bool exact_comes_first() const {
    return options_.techniques.exact && problem_.items.size() <= kExactFirst &&
           (stream_classes(problem_).size() == 1 || separable(problem_));
  }

  [[nodiscard]] bool done() const {
    if (best_.proved_optimal || limits_.over()) return true;
    if (!problem_.capacity) return false;
    return best_.height <= *problem_.capacity || best_.lower_bound > *problem_.capacity;
  }

  void improve() {
    const std::vector<std::uint32_t> classes = stream_classes(problem_);
    if (classes.size() == 1) {
      improve_one(classes.front());
    } else if (separable(problem_)) {
      improve_apart(classes);
    }
  }

  RefineOptions refine_options() const {
    RefineOptions refine;
    refine.limits = limits_;
    refine.limits.work_limit = limits_.work_limit > best_.work ? limits_.work_limit - best_.work : 1;
    refine.seed = options_.seed;
    refine.threads = options_.threads;
    refine.techniques = options_.techniques;
    refine.techniques.boosting = options_.techniques.boosting && exact_comes_first();
    refine.search = options_.search;
    if (problem_.capacity) refine.capacity = problem_.capacity->value();
    return refine;
  }

  void improve_one(std::uint32_t stream_class) {
    const Instance instance = build_instance(problem_, stream_class, other_regions(stream_class), limits_);
    if (limits_.stopped() || instance.pieces.empty()) return;
    RefineOptions refine = refine_options();
    refine.on_better = [&](const Draft& draft, const std::string& technique) {
      Solution better = best_;
      for (std::size_t p = 0; p < instance.pieces.size(); ++p)
        better.offsets[instance.pieces[p].item] = Offset(draft.offsets[p]);
      better.height = height_of(problem_, better.offsets);
      better.technique = technique;
      return take(std::move(better));
    };
    Draft draft;
    draft.offsets.reserve(instance.pieces.size());
    for (const Piece& piece : instance.pieces) draft.offsets.push_back(best_.offsets[piece.item].value());
    if (limits_.stopped()) return;
    draft.height = instance_height(instance, draft);
    if (limits_.stopped()) return;
    const Refined refined = placement::refine(instance, std::move(draft), refine);
    best_.work += refined.work;
    impossible_ = refined.impossible;
    best_.lower_bound = std::min(best_.height, std::max(best_.lower_bound, Bytes(refined.bound)));
    best_.proved_optimal = best_.height == best_.lower_bound;
  }

  /// Each class alone, then one above the other, the first one at the bottom.
  void improve_apart(const std::vector<std::uint32_t>& classes) {
    Solution stacked = best_;
    std::uint64_t base = 0, bound = 0;
    for (std::uint32_t stream_class : classes) {
      ClassPart part = part_of(problem_, stream_class);
      if (part.alignment == 0) return;
      PlaceOptions own = options_;
      own.work_limit = std::max<std::uint64_t>(options_.work_limit / classes.size(), 1);
      own.time_limit_s = std::max(seconds_left(), 1e-3);
      own.on_better = nullptr;
      const Result<Solution> placed = place(part.problem, own);
      if (!placed) return;
      base = align_up(base, part.alignment);
      for (std::size_t i = 0; i < part.items.size(); ++i) {
        const std::uint64_t offset = occupies(part.problem.items[i]) ? base + placed->offsets[i].value() : 0;
        stacked.offsets[part.items[i]] = Offset(offset);
      }
      base += placed->height.value();
      bound += placed->lower_bound.value();
      best_.work += placed->work;
    }
    best_.lower_bound = std::min(best_.height, std::max(best_.lower_bound, Bytes(bound)));
    best_.proved_optimal = best_.height == best_.lower_bound;
    stacked.height = height_of(problem_, stacked.offsets);
    stacked.lower_bound = best_.lower_bound;
    stacked.work = best_.work;
    stacked.technique = "stacked streams";
    take(std::move(stacked));
  }

  /// Takes a placement over if it is lower and the validator has nothing against it, and says whether it did.
  /// So a defect of a technique costs what it found and no more.
  bool take(Solution better) {
    if (better.height >= best_.height || !validate_placement(problem_, better, limits_)) return false;
    better.lower_bound = std::min(better.lower_bound, better.height);
    better.proved_optimal = better.height == better.lower_bound;
    best_ = std::move(better);
    show();
    return true;
  }

  void explain() {
    if (!options_.techniques.explain || limits_.over()) return;
    const Race alone{std::numeric_limits<std::uint32_t>::max()};
    WorkMeter meter(limits_, std::max<std::uint64_t>(limits_.work_limit / 4, 1), alone, 0);
    const bool known = impossible_ || best_.lower_bound > *problem_.capacity;
    if (!known) return;
    best_.conflict = placement::explain(problem_, *problem_.capacity, true, limits_, meter);
    best_.work += meter.used();
  }

  [[nodiscard]] std::vector<AddressRange> other_regions(std::uint32_t stream_class) const {
    std::vector<AddressRange> ranges;
    for (const Region& region : problem_.regions) {
      if (region.stream_class != stream_class && region.size.value() != 0)
        ranges.push_back({region.begin.value(), region.begin.value() + region.size.value()});
    }
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    return ranges;
  }

  static std::uint64_t instance_height(const Instance& instance, const Draft& draft) {
    std::uint64_t height = instance.obstacle_height();
    for (std::size_t p = 0; p < instance.pieces.size(); ++p)
      height = std::max(height, draft.offsets[p] + instance.pieces[p].size);
    return height;
  }

  [[nodiscard]] double seconds_left() const {
    return std::chrono::duration<double>(limits_.deadline - Clock::now()).count();
  }

  void show() const {
    if (options_.on_better) options_.on_better(best_);
  }

  static constexpr std::size_t kExactFirst = 3000;  ///< items

  const Problem& problem_;
  const PlaceOptions& options_;
  Limits limits_;
  Solution best_;
  double validation_s_ = 0;  ///< what validating the first placement took
  bool impossible_ = false;  ///< it is proved that the capacity has no placement
};

}  // namespace

bool fits(const Problem& problem, const Solution& solution) {
  return !problem.capacity || solution.height <= *problem.capacity;
}

Result<Solution> place(const Problem& problem, const PlaceOptions& options) {
  if (Status status = check_options(options); !status) return status.error();
  return Solver(problem, options).run();
}

}  // namespace stowage::planner::placement
