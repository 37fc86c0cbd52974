#include "planner/placement/search/tree.h"

#include <algorithm>

#include "core/support/check.h"

namespace stowage::planner::placement::search {

Tree::Tree(State& state, Brancher& brancher, FailedStates& failed, const SearchOptions& options)
    : state_(&state), brancher_(&brancher), failed_(&failed), options_(&options) {}

Outcome Tree::run(std::uint64_t nodes, WorkMeter& meter) {
  state_->undo({});
  frames_.clear();
  goals_.clear();
  tasks_.clear();
  const Range all{0, state_->model().sections};
  add_goals(all, state_->key(), kNone, kNone, options_->split);
  std::uint64_t done = state_->work() + brancher_->work();
  std::uint32_t at = kNone;  // the frame to continue with; kNone: the next goal is to be opened
  for (;;) {
    if (at == kNone) {
      if (head_ == kNone) {
        // Every task is placed once by now. If a defect lost one, nothing was found and nothing is proved.
        STOWAGE_DCHECK(state_->complete(), "the search lost a buffer");
        return state_->complete() ? Outcome::kFound : Outcome::kOut;
      }
      const Goal goal = goals_[head_];
      bool opened = false;
      if (nodes-- == 0) return Outcome::kOut;
      const bool possible = open(goal, opened);
      const std::uint64_t now = state_->work() + brancher_->work();
      if (!meter.spend(now - done + 64)) return Outcome::kOut;
      done = now;
      if (possible && !opened) {
        head_ = goal.next;
        continue;
      }
      at = opened ? static_cast<std::uint32_t>(frames_.size() - 1) : goal.parent;
      if (at == kNone) return Outcome::kInfeasible;
    }
    close_down_to(at);
    if (advance(at)) {
      at = kNone;
      continue;
    }
    const Goal& failed = frames_[at].goal;
    if (options_->memo) failed_->insert(failed.key);
    at = failed.parent;
    if (at == kNone) return Outcome::kInfeasible;
  }
}

bool Tree::open(const Goal& goal, bool& opened) {
  if (options_->memo && failed_->contains(goal.key)) return false;
  Frame frame;
  frame.first_task = frame.next_task = static_cast<std::uint32_t>(tasks_.size());
  if (!brancher_->choose(goal.range, tasks_, frame.choice)) return true;
  frame.goal = goal;
  frame.mark = state_->mark();
  frame.state_key = state_->key();
  frame.goals = static_cast<std::uint32_t>(goals_.size());
  frame.end_task = static_cast<std::uint32_t>(tasks_.size());
  frames_.push_back(frame);
  opened = true;
  return true;
}

void Tree::close_down_to(std::uint32_t frame) {
  frames_.resize(frame + 1);
  tasks_.resize(frames_[frame].end_task);
  goals_.resize(frames_[frame].goals);
  state_->undo(frames_[frame].mark);
}

bool Tree::advance(std::uint32_t frame_index) {
  Frame& frame = frames_[frame_index];
  while (frame.next_task < frame.end_task) {
    const std::uint32_t task = tasks_[frame.next_task++];
    if (state_->place(task)) {
      add_what_is_left(frame_index, options_->split && state_->parted());
      return true;
    }
    state_->undo(frame.mark);
  }
  if (frame.wasted || frame.choice.forced || state_->slack(frame.choice.section) == 0) return false;
  frame.wasted = true;
  if (brancher_->waste(frame.choice, *state_)) {
    add_what_is_left(frame_index, false);
    return true;
  }
  state_->undo(frame.mark);
  return false;
}

std::uint64_t Tree::key_of(const Range& range) const {
  const Model& model = state_->model();
  std::uint64_t key = 0;
  for_stretches(range, model.sections, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t task = model.first[begin]; task < model.first[end]; ++task) {
      if (state_->least(task) != kGone) key += state_->key_of(task);
    }
  });
  return key;
}

void Tree::add_part(const Range& range) {
  Goal part{range, 0, kGone, kNone, kNone};
  for_stretches(range, state_->model().sections, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t s = begin; s < end; ++s) {
      if (state_->floor(s) != kGone) part.slack = std::min(part.slack, state_->slack(s));
    }
  });
  if (part.slack != kGone) parts_.push_back(part);
}

void Tree::find_parts(Range range) {
  const std::uint32_t sections = state_->model().sections;
  if (range.begin == 0 && range.end == sections && state_->crossing(sections - 1) != 0) {
    std::uint32_t cut = 0;  // tasks cross the seam: begin behind a section that none leaves
    while (cut < sections && state_->crossing(cut) != 0) ++cut;
    if (cut == sections) return add_part(range);
    range = {cut + 1, cut + 1};
  }
  std::uint32_t from = range.begin;
  for_stretches(range, sections, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t s = begin; s < end; ++s) {
      if (state_->crossing(s) != 0) continue;
      add_part({from, s + 1});
      from = s + 1 == sections ? 0 : s + 1;
    }
  });
}

void Tree::add_goals(const Range& range, std::uint64_t key, std::uint32_t parent, std::uint32_t next,
                     bool split) {
  parts_.clear();
  if (split) {
    find_parts(range);
  } else {
    parts_.push_back({range, 0, 0, kNone, kNone});
  }
  if (options_->tightest_first) {
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const Goal& a, const Goal& b) { return a.slack < b.slack; });
  }
  for (std::size_t i = 1; i < parts_.size(); ++i) key -= parts_[i].key = key_of(parts_[i].range);
  if (!parts_.empty()) parts_.front().key = key;
  head_ = next;
  for (std::size_t i = parts_.size(); i-- > 0;) {
    parts_[i].parent = parent;
    parts_[i].next = head_;
    head_ = static_cast<std::uint32_t>(goals_.size());
    goals_.push_back(parts_[i]);
  }
}

void Tree::add_what_is_left(std::uint32_t frame_index, bool split) {
  const Goal goal = frames_[frame_index].goal;
  add_goals(goal.range, goal.key + state_->key() - frames_[frame_index].state_key, frame_index, goal.next,
            split);
}

}  // namespace stowage::planner::placement::search
