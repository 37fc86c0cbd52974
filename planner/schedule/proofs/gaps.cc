#include "planner/schedule/proofs/gaps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "planner/schedule/model/model.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::size_t kFarthest = 64;  // dead values that a share is counted of

// Walks through the iteration with nothing evicted.
class Walk {
 public:
  Walk(const OpGraph& graph, std::uint64_t smallest)
      : graph_(graph), smallest_(smallest), model_(graph), open_(graph.buffers.size()) {
    table_.needed.resize(graph.ops.size());
    table_.copy_lanes = graph.copy_lanes;
    for (const OpGraph::OpNode& op : graph.ops) table_.ops_ns += op.own_ns;
  }

  GapTable run() {
    for (std::uint32_t buffer = 0; buffer < open_.size(); ++buffer) {
      if (graph_.buffers[buffer].lasts()) open_gap(buffer);
    }
    for (const OpGraph::Event& event : graph_.events) pass(event);
    for (std::uint32_t buffer = 0; buffer < open_.size(); ++buffer)
      end_gap(buffer, graph_.buffers[buffer].lasts() ? End::kUse : End::kIteration);
    subtract_free();
    add_copies_there();
    return std::move(table_);
  }

 private:
  struct Open {
    std::uint32_t first;
    bool evicted;  ///< it may be
    bool copied;   ///< it may be offloaded
    double replay_ns = 0;
  };
  enum class End : std::uint8_t { kUse, kOverwrite, kDeath, kIteration };

  void pass(const OpGraph::Event& event) {
    switch (event.kind) {
      case OpGraph::EventKind::kBirth:
        return model_.birth(event.index);
      case OpGraph::EventKind::kDeath:
        end_gap(event.index, End::kDeath);
        return model_.death(event.index);
      case OpGraph::EventKind::kBegin:
        return begin(event.index);
      case OpGraph::EventKind::kEnd:
        return end(event.index);
    }
  }

  void begin(std::uint32_t op) {
    next_ = op;
    for (const OpGraph::Use& use : graph_.inputs(op))
      end_gap(graph_.values[use.value].buffer,
              use.role == ValueRole::kReplaced ? End::kOverwrite : End::kUse);
    price_new_gaps();
    model_.come_to(op);
    model_.lock(op);
    table_.needed[op] = model_.run(op);
    next_ = op + 1;
  }

  void end(std::uint32_t op) {
    model_.end(op);
    for (const OpGraph::Use& use : graph_.inputs(op)) open_gap(graph_.values[use.value].buffer);
    for (const OpGraph::Use& use : graph_.outputs(op)) open_gap(graph_.values[use.value].buffer);
  }

  // What is used inside a composite op is used by it, too.
  void open_gap(std::uint32_t buffer) {
    end_gap(buffer, End::kOverwrite);
    const bool evicted = model_.may_evict(buffer), copied = model_.may_offload(buffer);
    if (graph_.buffers[buffer].bytes < smallest_ || (!evicted && !copied)) return;
    open_[buffer] = Open{next_, evicted, copied};
    new_.push_back(buffer);
  }

  // What is evicted while the next op runs comes back after that: what is dead by then is dead.
  void price_new_gaps() {
    for (const std::uint32_t buffer : new_) {
      if (open_[buffer] && open_[buffer]->evicted) open_[buffer]->replay_ns = cost_of(model_.current(buffer));
    }
    new_.clear();
  }

  void end_gap(std::uint32_t buffer, End how) {
    if (!open_[buffer]) return;
    const Open open = *open_[buffer];
    open_[buffer].reset();
    const OpGraph::BufferNode& node = graph_.buffers[buffer];
    const std::uint32_t end = open.copied ? next_ : std::min(next_, node.pinned_from);
    Gap gap{open.first, end, node.bytes, open.evicted ? open.replay_ns : kNoWay};
    if (node.lasts() && next_ == graph_.touched[buffer].front())
      return static_cast<void>(first_use_[buffer] = end);  // the gap began in the iteration before
    if (node.lasts() && next_ == graph_.ops.size()) gap.next_end = first_use_[buffer];
    if (open.first >= end && gap.next_end == 0) return;
    if (open.evicted && how != End::kUse) return free_.push_back(gap);
    if (!open.copied && how == End::kUse) return table_.gaps.push_back(gap);
    if (!open.copied) return;
    const bool comes_back = how == End::kUse || how == End::kOverwrite;
    copied_[content_of(buffer)].push_back({table_.gaps.size(), !comes_back});
    table_.gaps.push_back(gap);
  }

  /// What lasts has at the beginning what the iteration before left.
  [[nodiscard]] std::uint32_t content_of(std::uint32_t buffer) const {
    const std::uint32_t value = model_.current(buffer);
    const bool is_last = graph_.buffers[buffer].lasts() && next_ > graph_.touched[buffer].back();
    return is_last ? graph_.first_value[buffer] : value;
  }

  struct Copied {
    std::size_t gap;
    bool leaves;  ///< no copy back
  };

  void add_copies_there() {
    for (const auto& [content, gaps] : copied_) {
      const OpGraph::BufferNode& node = graph_.buffers[graph_.values[content].buffer];
      const auto one = static_cast<double>(node.copy_ns);
      const bool is_stored = node.lasts() && !node.written;
      const double there = is_stored ? 0 : one / static_cast<double>(gaps.size());
      for (const Copied& copied : gaps) {
        table_.gaps[copied.gap].there_ns = there;
        table_.gaps[copied.gap].back_ns = copied.leaves ? 0 : one;
      }
    }
  }

  /// What is used no more may go at once.
  void subtract_free() {
    std::vector<std::uint64_t> more(table_.needed.size() + 1), less(table_.needed.size() + 1);
    for (const Gap& gap : free_) {
      more[gap.first] += gap.bytes;
      less[gap.end] += gap.bytes;
    }
    std::uint64_t out = 0;
    for (std::size_t op = 0; op < table_.needed.size(); ++op) {
      out += more[op] - less[op];
      table_.needed[op] -= std::min(table_.needed[op], out);
    }
  }

  /// The share of a run of the op that one of its outputs has.
  [[nodiscard]] double share_of(std::uint32_t op) const {
    const auto outputs = graph_.outputs(op);
    const auto made = std::count_if(outputs.begin(), outputs.end(),
                                    [](const OpGraph::Use& use) { return use.role == ValueRole::kMade; });
    return 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(made, 1));
  }

  /// Makers come before readers: the latest op first, with the sum of the shares that lead to it.
  [[nodiscard]] double cost_of(std::uint32_t value) const {
    const std::uint32_t maker = graph_.values[value].maker;
    const double own = share_of(maker) * static_cast<double>(graph_.ops[maker].cost_ns);
    std::map<std::uint32_t, double> shares{{maker, share_of(maker)}};  // by op
    double sum = 0;
    for (std::size_t visited = 0; !shares.empty(); ++visited) {
      if (visited == kFarthest) return own;
      const auto [op, share] = *shares.rbegin();
      shares.erase(op);
      sum += share * static_cast<double>(graph_.ops[op].cost_ns);
      for (const OpGraph::Use& use : graph_.inputs(op)) {
        if (!OpGraph::feeds(use.role) || model_.materialised(use.value)) continue;
        const OpGraph::ValueNode& below = graph_.values[use.value];
        // Something else may have kept what is lost here.
        if (model_.state_of(use.value) != ValueState::kDead || below.maker >= op) return own;
        const auto readers = static_cast<double>(graph_.readers[use.value].size());
        shares[below.maker] += share * share_of(below.maker) / std::max(readers, 1.0);
      }
    }
    return sum;
  }

  const OpGraph& graph_;
  const std::uint64_t smallest_;
  Model model_;
  std::uint32_t next_ = 0;  ///< the op that begins next
  std::vector<std::optional<Open>> open_;
  std::vector<std::uint32_t> new_;  ///< buffers whose gaps have no price yet
  std::vector<Gap> free_;
  std::map<std::uint32_t, std::vector<Copied>> copied_;  ///< by content
  std::map<std::uint32_t, std::uint32_t> first_use_;     ///< by lasting buffer: op
  GapTable table_;
};

}  // namespace

GapTable make_gaps(const OpGraph& graph, std::uint64_t smallest) { return Walk(graph, smallest).run(); }

}  // namespace stowage::planner::schedule
