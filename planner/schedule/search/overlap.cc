#include "planner/schedule/search/overlap.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stowage::planner::schedule {
namespace {

/// By op: the first one that begins after it has ended.
std::vector<std::uint32_t> followers_of(const OpGraph& graph) {
  std::vector<std::uint32_t> followers(graph.ops.size(), 0);
  std::uint32_t next = 0;
  for (const OpGraph::Event& event : graph.events) {
    if (event.kind == OpGraph::EventKind::kBegin) next = event.index + 1;
    if (event.kind == OpGraph::EventKind::kEnd) followers[event.index] = next;
  }
  return followers;
}

// Moves the copies of one list of steps.
class Mover {
 public:
  /// `course` is that of `steps`; all outlive the mover.
  Mover(const OpGraph& graph, std::uint64_t budget, const std::vector<Step>& steps, const Course& course)
      : graph_(graph),
        course_(course),
        followers_(followers_of(graph)),
        last_(graph.buffers.size(), 0),
        kept_(steps) {
    for (const std::uint64_t held : course.held) room_.push_back(budget - std::min(budget, held));
    move_copies_there();
  }

  /// With copies there moved alone.
  [[nodiscard]] std::vector<Step> steps() const { return merged({}); }
  /// With copies back moved, too. Once.
  [[nodiscard]] std::vector<Step> steps_with_prefetches() { return merged(prefetches()); }

 private:
  struct Fetch {
    std::uint32_t op;  ///< that wants it
    std::uint32_t buffer;
    std::uint32_t earliest;  ///< op
  };

  [[nodiscard]] std::uint64_t begin_of(std::uint32_t op) const { return course_.begins[op]; }

  /// The earliest op before which the present content of `buffer` is all there and no op uses it.
  [[nodiscard]] std::uint32_t final_at(std::uint32_t buffer, std::uint32_t before) const {
    const std::vector<std::uint32_t>& uses = graph_.touched[buffer];
    std::uint32_t from = last_[buffer];
    for (const std::uint32_t op : uses) {
      if (op >= before) break;
      if (writes(op, buffer)) from = std::max(from, followers_[op]);
    }
    for (const std::uint32_t op : uses) {
      if (op < from && followers_[op] > from) from = followers_[op];
    }
    return from;
  }

  [[nodiscard]] bool writes(std::uint32_t op, std::uint32_t buffer) const {
    return std::ranges::any_of(graph_.outputs(op), [&](const OpGraph::Use& use) {
      return graph_.values[use.value].buffer == buffer;
    });
  }

  /// The first op from `op` on that uses it, or the last op.
  [[nodiscard]] std::uint32_t next_use(std::uint32_t buffer, std::uint32_t op) const {
    const std::vector<std::uint32_t>& uses = graph_.touched[buffer];
    const auto next = std::lower_bound(uses.begin(), uses.end(), op);
    return next != uses.end() ? *next : static_cast<std::uint32_t>(graph_.ops.size()) - 1;
  }

  // Goes through what was copied in order, with when each buffer came to where it is.
  void move_copies_there() {
    std::uint64_t free = 0;
    for (const Copied& copied : course_.copied) {
      const OpGraph::BufferNode& node = graph_.buffers[copied.buffer];
      if (copied.back) {
        fetches_.push_back({copied.op, copied.buffer, last_[copied.buffer]});
        last_[copied.buffer] = copied.op;
        continue;
      }
      const auto step = std::ranges::find_if(kept_, [&](const Step& one) {
        return one.kind == ActionKind::kOffload && one.op == copied.op && one.buffer == copied.buffer;
      });
      const std::uint32_t from = std::min(final_at(copied.buffer, copied.op), copied.op);
      const std::uint64_t done = std::max(free, begin_of(from)) + node.copy_ns;
      const std::uint32_t end = next_use(copied.buffer, copied.op);
      std::uint32_t leaves = copied.op;
      for (; leaves < end && begin_of(leaves) < done && room_[leaves] >= node.bytes; ++leaves)
        room_[leaves] -= node.bytes;
      free = done;
      last_[copied.buffer] = leaves;
      if (from == leaves) continue;
      kept_.erase(step);
      offloads_.push_back({leaves, ActionKind::kOffload, copied.buffer});
      stores_.push_back({from, ActionKind::kStore, copied.buffer});
    }
  }

  // Laid out from the latest one on.
  std::vector<Step> prefetches() {
    std::vector<Step> found;
    std::uint64_t free = ~std::uint64_t{0};
    for (auto fetch = fetches_.rbegin(); fetch != fetches_.rend(); ++fetch) {
      const OpGraph::BufferNode& node = graph_.buffers[fetch->buffer];
      const std::uint64_t due = std::min(free, begin_of(fetch->op));
      const std::uint64_t begin = due - std::min(due, node.copy_ns);
      std::uint32_t op = fetch->op;
      while (op > fetch->earliest && begin_of(op) > begin && room_[op - 1] >= node.bytes) {
        --op;
        room_[op] -= node.bytes;
      }
      free = std::min(due, begin_of(op));
      if (op < fetch->op) found.push_back({op, ActionKind::kPrefetch, fetch->buffer});
    }
    std::ranges::reverse(found);
    return found;
  }

  // At one op: what makes room, what was there, copies back, copies there.
  [[nodiscard]] std::vector<Step> merged(const std::vector<Step>& prefetches) const {
    std::vector<Step> all;
    for (const std::vector<Step>* steps : {&offloads_, &kept_, &prefetches, &stores_})
      all.insert(all.end(), steps->begin(), steps->end());
    std::ranges::stable_sort(all, {}, &Step::op);
    return all;
  }

  const OpGraph& graph_;
  const Course& course_;
  const std::vector<std::uint32_t> followers_;
  std::vector<std::uint64_t> room_;  ///< by op: bytes that may be held besides
  std::vector<std::uint32_t> last_;  ///< by buffer: the op before which it left or came last
  std::vector<Fetch> fetches_;
  std::vector<Step> kept_;               ///< as they were
  std::vector<Step> offloads_, stores_;  ///< the others, moved
};

}  // namespace

std::optional<Found> overlap_copies(const OpGraph& graph, std::uint64_t budget, const Found& found,
                                    const Course& course) {
  std::optional<Found> best;
  std::uint64_t least_ns = found.outcome.added_ns();
  const auto try_steps = [&](std::vector<Step> steps) {
    Found other{std::move(steps), {}};
    other.outcome = play(graph, other.steps);
    const Outcome& outcome = other.outcome;
    if (outcome.refused > 0 || outcome.peak > budget || outcome.added_ns() >= least_ns) return;
    least_ns = outcome.added_ns();
    best = std::move(other);
  };
  Mover mover(graph, budget, found.steps, course);
  try_steps(mover.steps_with_prefetches());
  try_steps(mover.steps());
  return best;
}

}  // namespace stowage::planner::schedule
