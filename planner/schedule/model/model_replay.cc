// The part of Model that runs ops again.
#include <algorithm>
#include <unordered_set>

#include "core/support/check.h"
#include "planner/schedule/model/model.h"

namespace stowage::planner::schedule {

Model::Replay Model::plan(std::uint32_t buffer) {
  struct Frame {
    std::uint32_t op;
    std::uint32_t next;
  };
  Replay replay;
  const std::uint64_t stamp = ++stamp_;
  const std::uint32_t last = graph_.values[current_[buffer]].maker;
  std::vector<Frame> frames{{last, 0}};
  stamp_of_op_[last] = stamp;
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next == graph_.ops[frame.op].inputs) {
      replay.steps.push_back(frame.op);
      frames.pop_back();
      continue;
    }
    ++work_;
    const OpGraph::Use& use = graph_.inputs(frame.op)[frame.next++];
    if (!OpGraph::feeds(use.role) || materialised(use.value)) continue;
    ++replay.uses[use.value];
    const std::uint32_t maker = graph_.values[use.value].maker;
    STOWAGE_CHECK(recipe_[use.value] != 0, "an evicted value's leaves are held");
    if (stamp_of_op_[maker] == stamp) continue;
    stamp_of_op_[maker] = stamp;
    frames.push_back({maker, 0});
  }
  return replay;
}

constexpr std::uint64_t kUseWork = 3;  // what running a step does for each use, in values looked at

/// One run of a replay's steps, in earnest or only to see how much it takes.
class Model::Rerun {
 public:
  Rerun(Model& model, const Replay& replay, bool dry)
      : model_(model), graph_(model.graph_), uses_(replay.uses), dry_(dry), most_(model.held_) {}

  std::uint64_t most() const { return most_; }

  void run(std::uint32_t step, std::vector<std::uint32_t>* back) {
    written_.clear();
    scratch_.clear();
    inside_ = moved_ = 0;
    model_.work_ += kUseWork * (graph_.ops[step].inputs + graph_.ops[step].outputs);
    for (const OpGraph::Use& use : graph_.inputs(step)) fetch(use, back);
    for (const OpGraph::Use& use : graph_.inputs(step)) take_input(use);
    const std::uint64_t spare = graph_.ops[step].workspace + graph_.ops[step].extra;
    inside_ += spare;
    std::vector<std::size_t> fresh;
    for (const OpGraph::Use& out : graph_.outputs(step)) {
      const bool is_new = graph_.values[out.value].version == 0;
      fresh.push_back(is_new ? open(bytes_of(out.value)) : 0);
      inside_ += is_new ? bytes_of(out.value) : 0;
    }
    if (spare > 0) close(open(spare));
    most_ = std::max(most_, model_.held_ + came_ + temporary_ + inside_);
    temporary_ -= moved_;
    for (const std::size_t span : scratch_) close(span);
    for (std::size_t i = 0; i < fresh.size(); ++i) deliver(graph_.outputs(step)[i], fresh[i], back);
  }

 private:
  struct Made {
    std::uint64_t bytes;
    std::size_t span;
  };

  std::uint64_t bytes_of(std::uint32_t value) const {
    return graph_.buffers[graph_.values[value].buffer].bytes;
  }
  std::size_t open(std::uint64_t bytes) { return dry_ ? 0 : model_.open_span(bytes); }
  void close(std::size_t span) {
    if (!dry_) model_.close_span(span);
  }

  // What it reads and is in a store comes back, and stays.
  void fetch(const OpGraph::Use& use, std::vector<std::uint32_t>* back) {
    if (!OpGraph::feeds(use.role) || made_.contains(use.value)) return;
    const std::uint32_t buffer = graph_.values[use.value].buffer;
    if (model_.state_of(use.value) != ValueState::kOffloaded || back_.contains(buffer)) return;
    if (dry_) {
      back_.insert(buffer);
      came_ += model_.arriving_[buffer] == 0 ? bytes_of(use.value) : 0;
      return;
    }
    model_.fetch(buffer);
    if (back != nullptr) back->push_back(buffer);
  }

  // Written inputs are copies or scratch, unless a value that nobody else needs can be written itself.
  void take_input(const OpGraph::Use& use) {
    if (use.role == ValueRole::kReplaced) return take_scratch(use.value);
    if (!OpGraph::feeds(use.role)) return;
    const auto uses = uses_.find(use.value);
    const bool last = uses != uses_.end() && --uses->second == 0;
    const auto there = made_.find(use.value);
    if (there == made_.end() || !last) {
      if (use.role == ValueRole::kChanged) take_scratch(use.value);
      return;
    }
    moved_ += there->second.bytes;
    if (use.role == ValueRole::kChanged) {
      written_[graph_.values[use.value].buffer] = there->second.span;
    } else {
      scratch_.push_back(there->second.span);
    }
    made_.erase(there);
  }
  void take_scratch(std::uint32_t value) {
    inside_ += bytes_of(value);
    written_[graph_.values[value].buffer] = open(bytes_of(value));
  }

  void deliver(const OpGraph::Use& out, std::size_t span, std::vector<std::uint32_t>* back) {
    const OpGraph::ValueNode& value = graph_.values[out.value];
    if (value.version > 0) {
      const auto written = written_.find(value.buffer);
      if (written == written_.end()) return;
      span = written->second;
    }
    const auto uses = uses_.find(out.value);
    const bool made = out.role == ValueRole::kMade;
    const bool at_home = model_.current_[value.buffer] == out.value;
    const bool offloaded = model_.is_offloaded(value.buffer) && model_.arriving_[value.buffer] == 0;
    const bool away = model_.is_evicted(value.buffer) || offloaded;
    if (made && at_home && away && !back_.contains(value.buffer)) {
      refill(value.buffer, span, back);
    } else if (made && uses != uses_.end() && uses->second > 0 && !model_.materialised(out.value) &&
               !(at_home && back_.contains(value.buffer))) {
      made_[out.value] = {bytes_of(out.value), span};
      temporary_ += bytes_of(out.value);
    } else {
      close(span);
    }
  }
  void refill(std::uint32_t buffer, std::size_t span, std::vector<std::uint32_t>* back) {
    if (dry_) {
      back_.insert(buffer);
      came_ += graph_.buffers[buffer].bytes;
      return;
    }
    model_.refill(buffer, span);
    if (back != nullptr) back->push_back(buffer);
  }

  Model& model_;
  const OpGraph& graph_;
  std::unordered_map<std::uint32_t, std::uint32_t> uses_;
  const bool dry_;
  std::unordered_map<std::uint32_t, Made> made_;            ///< by value: what only later steps see
  std::unordered_map<std::uint32_t, std::size_t> written_;  ///< by buffer: what the step writes in its place
  std::vector<std::size_t> scratch_;                        ///< spans that end with the step
  std::unordered_set<std::uint32_t> back_;                  ///< dry: what would be here by now
  std::uint64_t came_ = 0;                                  ///< their bytes
  std::uint64_t temporary_ = 0;
  std::uint64_t inside_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t most_;
};

void Model::refill(std::uint32_t buffer, std::size_t span) {
  where_[buffer] = kBytesHere;
  hold(buffer, span);
  release_leaves(buffer);
}

std::uint64_t Model::peak_of(const Replay& replay) {
  Rerun rerun(*this, replay, true);
  for (const std::uint32_t step : replay.steps) rerun.run(step, nullptr);
  return rerun.most();
}

void Model::restore(std::uint32_t buffer, std::vector<std::uint32_t>* back) {
  if (is_offloaded(buffer)) {
    fetch(buffer);
    note_peak(held_);
    if (back != nullptr) back->push_back(buffer);
    return;
  }
  if (!is_evicted(buffer)) return;
  const Replay replay = plan(buffer);
  Rerun rerun(*this, replay, false);
  for (const std::uint32_t step : replay.steps) {
    rerun.run(step, back);
    ++replays_;
    replay_ns_ += graph_.ops[step].cost_ns;
    queue_.run(graph_.ops[step].cost_ns);
  }
  note_peak(rerun.most());
  STOWAGE_CHECK(is_resident(buffer), "the last step of a plan makes what it is for");
}

}  // namespace stowage::planner::schedule
