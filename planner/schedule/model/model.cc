#include "planner/schedule/model/model.h"

#include <algorithm>

#include "core/support/check.h"

namespace stowage::planner::schedule {

Model::Model(const OpGraph& graph, std::vector<Span>* spans, const std::vector<std::uint32_t>& away)
    : graph_(graph),
      spans_(spans),
      current_(graph.first_value),
      life_(graph.buffers.size(), kUnborn),
      where_(graph.buffers.size(), kBytesHere),
      stored_(graph.buffers.size(), 0),
      in_store_(graph.buffers.size(), 0),
      arriving_(graph.buffers.size(), 0),
      due_(graph.buffers.size(), 0),
      queue_(graph.copy_lanes),
      store_room_(graph.store_bytes),
      locks_(graph.buffers.size(), 0),
      span_of_(graph.buffers.size(), 0),
      leaves_(graph.buffers.size()),
      recipe_(graph.values.size(), 0),
      sound_(graph.values.size(), 1),
      write_(graph.values.size(), WriteState::kOpen),
      anchors_(graph.values.size(), 0),
      below_(graph.ops.size()),
      below_age_(graph.ops.size(), 0),
      stamp_of_value_(graph.values.size(), 0),
      stamp_of_op_(graph.ops.size(), 0) {
  for (std::uint32_t value = 0; value < graph.values.size(); ++value)
    recipe_[value] = graph.values[value].recipe ? 1 : 0;
  for (const std::uint32_t buffer : away) where_[buffer] = kStoredBytes;
  for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    if (!graph.buffers[buffer].from_before) continue;
    life_[buffer] = kAlive;
    // What no iteration writes was copied once, in an earlier one.
    stored_[buffer] = graph_.buffers[buffer].lasts_alike() || where_[buffer] == kStoredBytes ? 1 : 0;
    if (where_[buffer] == kStoredBytes) {
      take_store_room(buffer);
      continue;
    }
    hold(buffer, open_span(graph.buffers[buffer].bytes));
    if (spans_ != nullptr) spans_->back().from_before = true;
  }
  note_peak(held_);
}

std::size_t Model::open_span(std::uint64_t bytes) {
  if (spans_ == nullptr) return 0;
  spans_->push_back({clock_, kOpenEnd, bytes});
  ++clock_;
  return spans_->size() - 1;
}

void Model::close_span(std::size_t span) {
  if (spans_ != nullptr) (*spans_)[span].end = clock_;
}

void Model::hold(std::uint32_t buffer, std::size_t span) {
  held_ += graph_.buffers[buffer].bytes;
  span_of_[buffer] = span;
  if (spans_ != nullptr) (*spans_)[span].buffer = buffer;
}

void Model::release(std::uint32_t buffer) {
  held_ -= graph_.buffers[buffer].bytes;
  close_span(span_of_[buffer]);
}

ValueState Model::state_of(std::uint32_t value) const {
  const std::uint32_t buffer = graph_.values[value].buffer;
  if (current_[buffer] == value && is_needed(buffer)) {
    if (where_[buffer] == kEvictedBytes) return ValueState::kEvicted;
    if (where_[buffer] == kStoredBytes) return ValueState::kOffloaded;
    return write_[value] == WriteState::kClosing ? ValueState::kClosing : ValueState::kResident;
  }
  return recipe_[value] != 0 ? ValueState::kDead : ValueState::kLost;
}

bool Model::may_evict(std::uint32_t buffer) const {
  return graph_.buffers[buffer].may_go && op_ < graph_.buffers[buffer].pinned_from && is_resident(buffer) &&
         locks_[buffer] == 0 && graph_.buffers[buffer].bytes > 0 && recipe_[current_[buffer]] != 0;
}

// True if every way down ends at a leaf that is there. What is there but leads to a lost leaf becomes a leaf.
bool Model::settle(std::uint32_t value) {
  struct Frame {
    std::uint32_t value;
    std::uint32_t next;
  };
  const std::uint64_t stamp = ++stamp_;
  std::vector<Frame> frames{{value, 0}};
  while (!frames.empty()) {
    Frame& frame = frames.back();
    const std::uint32_t at = frame.value;
    ++work_;
    if (frame.next == 0 && stamp_of_value_[at] != stamp) sound_[at] = is_lost(at) ? 0 : 1;
    const std::uint32_t maker = graph_.values[at].maker;
    const bool done = stamp_of_value_[at] == stamp || recipe_[at] == 0 || sound_[at] == 0 ||
                      frame.next == graph_.ops[maker].inputs;
    if (!done) {
      const OpGraph::Use& use = graph_.inputs(maker)[frame.next++];
      if (!OpGraph::feeds(use.role)) continue;
      if (stamp_of_value_[use.value] == stamp) {
        sound_[at] = sound_[at] & sound_[use.value];
      } else {
        frames.push_back({use.value, 0});
      }
      continue;
    }
    if (sound_[at] == 0 && recipe_[at] != 0 && materialised(at)) {
      recipe_[at] = 0;
      sound_[at] = 1;
      ++age_;
    }
    stamp_of_value_[at] = stamp;
    const std::uint8_t sound = sound_[at];
    frames.pop_back();
    if (!frames.empty()) sound_[frames.back().value] = sound_[frames.back().value] & sound;
  }
  return sound_[value] != 0;
}

// What running each op again starts from, kept until a recipe is dropped.
const std::vector<std::uint32_t>& Model::leaves_below(std::uint32_t op) {
  std::vector<std::uint32_t> waiting{op};
  while (!waiting.empty()) {
    const std::uint32_t at = waiting.back();
    const std::size_t size = waiting.size();
    if (below_age_[at] != age_) {
      for (const OpGraph::Use& use : graph_.inputs(at)) {
        const std::uint32_t maker = maker_below(use);
        if (maker != kNone && below_age_[maker] != age_) waiting.push_back(maker);
      }
      if (waiting.size() > size) continue;
      below_[at] = leaves_of_inputs(at);
      below_age_[at] = age_;
      work_ += below_[at].size() + 1;
    }
    waiting.pop_back();
  }
  return below_[op];
}

// The op that would run again, too; none: what is used is a leaf, or not needed.
std::uint32_t Model::maker_below(const OpGraph::Use& use) const {
  return OpGraph::feeds(use.role) && recipe_[use.value] != 0 ? graph_.values[use.value].maker : kNone;
}

// Requires: those of the ops below are known. The tensors of a list mostly come from one op.
std::vector<std::uint32_t> Model::leaves_of_inputs(std::uint32_t op) const {
  std::vector<std::uint32_t> all;
  std::uint32_t last = kNone;
  for (const OpGraph::Use& use : graph_.inputs(op)) {
    if (!OpGraph::feeds(use.role)) continue;
    const std::uint32_t maker = maker_below(use);
    if (maker == kNone) {
      all.push_back(use.value);
    } else if (maker != std::exchange(last, maker)) {
      all.insert(all.end(), below_[maker].begin(), below_[maker].end());
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool Model::collect_leaves(std::uint32_t value, std::vector<std::uint32_t>& leaves) {
  leaves = leaves_below(graph_.values[value].maker);
  const auto gone = [this](std::uint32_t leaf) { return is_lost(leaf); };
  if (std::any_of(leaves.begin(), leaves.end(), gone)) {
    if (!settle(value) || recipe_[value] == 0) return false;
    leaves = leaves_below(graph_.values[value].maker);
  }
  work_ += leaves.size();
  return std::all_of(leaves.begin(), leaves.end(),
                     [this](std::uint32_t leaf) { return write_[leaf] == WriteState::kOpen; });
}

bool Model::evict(std::uint32_t buffer) {
  if (!may_evict(buffer)) return false;
  std::vector<std::uint32_t> leaves;
  if (!collect_leaves(current_[buffer], leaves)) return false;
  for (const std::uint32_t leaf : leaves) ++anchors_[leaf];
  leaves_[buffer] = std::move(leaves);
  release(buffer);
  where_[buffer] = kEvictedBytes;
  return true;
}

void Model::release_leaves(std::uint32_t buffer) {
  for (const std::uint32_t leaf : leaves_[buffer]) {
    const std::uint32_t home = graph_.values[leaf].buffer;
    const bool is_last = --anchors_[leaf] == 0 && life_[home] == kDead && current_[home] == leaf;
    if (!is_last) continue;
    if (has_memory(home)) release(home);
    drop_copy(home);
  }
  leaves_[buffer].clear();
}

std::vector<std::uint32_t> Model::dependents(std::uint32_t value) const {
  std::vector<std::uint32_t> found;
  if (anchors_[value] == 0) return found;
  for (std::uint32_t buffer = 0; buffer < where_.size(); ++buffer) {
    if (!is_evicted(buffer)) continue;
    const std::vector<std::uint32_t>& leaves = leaves_[buffer];
    if (std::find(leaves.begin(), leaves.end(), value) != leaves.end()) found.push_back(buffer);
  }
  return found;
}

void Model::birth(std::uint32_t buffer) {
  life_[buffer] = kAlive;
  hold(buffer, open_span(graph_.buffers[buffer].bytes));
  note_peak(held_);
}

void Model::death(std::uint32_t buffer) {
  life_[buffer] = kDead;
  if (anchors_[current_[buffer]] > 0) return;
  if (has_memory(buffer)) release(buffer);
  drop_copy(buffer);
}

void Model::lock(std::uint32_t op) {
  for (const OpGraph::Use& use : graph_.inputs(op)) ++locks_[graph_.values[use.value].buffer];
}

std::uint64_t Model::need_of(std::uint32_t op) const {
  std::uint64_t need = held_ + graph_.ops[op].workspace;
  for (const OpGraph::Use& out : graph_.outputs(op)) {
    const OpGraph::ValueNode& value = graph_.values[out.value];
    if (value.version == 0) need += graph_.buffers[value.buffer].bytes;
  }
  return need;
}

std::uint64_t Model::run(std::uint32_t op) {
  const std::uint64_t need = need_of(op);
  note_peak(need);
  queue_.run(graph_.ops[op].own_ns);
  if (spans_ == nullptr) return need;
  for (const OpGraph::Use& out : graph_.outputs(op)) {
    const OpGraph::ValueNode& value = graph_.values[out.value];
    if (value.version == 0) span_of_[value.buffer] = open_span(graph_.buffers[value.buffer].bytes);
  }
  if (graph_.ops[op].workspace > 0) close_span(open_span(graph_.ops[op].workspace));
  return need;
}

void Model::end(std::uint32_t op) {
  for (const OpGraph::Use& use : graph_.inputs(op)) --locks_[graph_.values[use.value].buffer];
  for (const OpGraph::Use& out : graph_.outputs(op)) {
    const OpGraph::ValueNode& value = graph_.values[out.value];
    if (value.version == 0) {
      life_[value.buffer] = kAlive;
      hold(value.buffer, span_of_[value.buffer]);
    } else {
      current_[value.buffer] = out.value;
      stored_[value.buffer] = 0;
      drop_copy(value.buffer);
    }
  }
}

}  // namespace stowage::planner::schedule
