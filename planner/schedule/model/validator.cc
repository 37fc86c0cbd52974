#include "planner/schedule/model/validator.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/residency_contract.h"
#include "planner/schedule/model/log_contents.h"

namespace stowage::planner::schedule {
namespace {

// Thrown and caught in this file only: the walk ends wherever a rule is broken.
struct Broken {
  std::string what;
};

class Walk {
 public:
  Walk(const StepLog& log, const Schedule& schedule, std::uint64_t budget)
      : log_(log), contents_(log), schedule_(schedule), budget_(budget), buffers_(log.trace.buffers.size()) {
    for (std::uint32_t b = 0; b < buffers_.size(); ++b) buffers_[b].current = contents_.first_of(b);
    maker_ = contents_.makers();
    anchors_.resize(contents_.count());
    write_.assign(contents_.count(), WriteState::kOpen);
    for (const BufferId made : log.made) buffers_[made.value()].made = true;
    for (const LastingBuffer& one : lasting_buffers(log)) {
      lasting_.push_back(one.buffer.value());
      buffers_[one.buffer.value()].lasts = true;
    }
    note_last_uses();
  }

  Verdict go() {
    begin_where_it_ends();
    for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
      if (log_.trace.buffers[b].preexisting && !buffers_[b].offloaded) appear(b);
    }
    for (const auto& [time, what] : timetable()) {
      const auto& [order, index] = what;
      if (order == 0) vanish(index);
      if (order == 1) appear(index);
      if (order == 2) finish(index);
      if (order == 3) start(index);
    }
    if (next_action_ != schedule_.actions.size()) throw Broken{"an action is for an op that does not come"};
    for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].alive && buffers_[b].offloaded != buffers_[b].begins_away)
        throw Broken{"buffer " + std::to_string(b) + " ends elsewhere than it begins"};
    }
    return verdict_;
  }

 private:
  struct State {
    bool made = false;   // by an op
    bool alive = false;  // the job has it
    bool gone = false;   // the job had it
    bool evicted = false;
    bool offloaded = false;
    bool stored = false;  // a copy of what it holds is in its store
    bool lasts = false;   // it was there before the iteration, and is behind it
    bool begins_away = false;
    std::uint32_t last_use = 0;   // op
    Content current = 0;
    int locks = 0;                // running ops
    std::vector<Content> leaves;  // what bringing it back starts from, while evicted
  };

  std::multimap<std::uint64_t, std::pair<int, std::uint32_t>> timetable() const {
    std::vector<std::pair<std::uint64_t, std::pair<int, std::uint32_t>>> rows;
    const Trace& trace = log_.trace;
    for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
      if (!trace.buffers[b].preexisting && !buffers_[b].made)
        rows.push_back({trace.buffers[b].birth.value(), {1, b}});
      if (trace.buffers[b].death != kNever) rows.push_back({trace.buffers[b].death.value(), {0, b}});
    }
    for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
      rows.push_back({trace.ops[op].begin.value(), {3, op}});
      rows.push_back({trace.ops[op].end.value(), {2, op}});
    }
    std::sort(rows.begin(), rows.end());
    return {rows.begin(), rows.end()};
  }

  void note_last_uses() {
    for (std::uint32_t op = 0; op < log_.trace.ops.size(); ++op) {
      for (std::size_t at = inputs_at(op); at < end_of(op); ++at) home(contents_.at(at)).last_use = op;
    }
    std::vector<bool> written(buffers_.size(), false);
    for (std::size_t at = 0; at < log_.roles.size(); ++at) {
      const bool writes = log_.roles[at] == ValueRole::kChanged || log_.roles[at] == ValueRole::kReplaced;
      if (writes) written[contents_.home(contents_.at(at))] = true;
    }
    for (const std::uint32_t b : lasting_) buffers_[b].stored = !written[b];
  }

  // What is offloaded after its last use, and not asked for again.
  void begin_where_it_ends() {
    for (const Action& action : schedule_.actions) {
      if (action.entry < kLastingEntries || action.entry - kLastingEntries >= lasting_.size()) continue;
      State& state = buffers_[lasting_[action.entry - kLastingEntries]];
      state.begins_away = action.kind == ActionKind::kOffload && action.op > state.last_use;
    }
    for (const std::uint32_t b : lasting_) {
      State& state = buffers_[b];
      if (!state.begins_away) continue;
      state.alive = state.offloaded = state.stored = true;
    }
  }

  std::size_t inputs_at(std::uint32_t op) const { return contents_.inputs_at(op); }
  std::size_t outputs_at(std::uint32_t op) const { return contents_.outputs_at(op); }
  std::size_t end_of(std::uint32_t op) const { return contents_.end_of(op); }
  State& home(Content c) { return buffers_[contents_.home(c)]; }
  const State& home(Content c) const { return buffers_[contents_.home(c)]; }
  std::uint64_t size(std::uint32_t buffer) const { return log_.trace.buffers[buffer].rounded.value(); }

  bool lives(Content c) const {
    return home(c).current == c && (home(c).alive || (home(c).gone && anchors_[c] > 0));
  }
  // Where recomputation may start: in memory, or in a store.
  bool readable(Content c) const { return lives(c) && !home(c).evicted && write_[c] != WriteState::kClosing; }

  void at_most(std::uint64_t bytes, const std::string& where) {
    verdict_.peak = std::max(verdict_.peak, Bytes(bytes));
    if (bytes > budget_) throw Broken{where + ": " + std::to_string(bytes) + " bytes are held"};
  }

  void appear(std::uint32_t b) {
    buffers_[b].alive = true;
    held_ += size(b);
    at_most(held_, "buffer " + std::to_string(b));
  }
  void vanish(std::uint32_t b) {
    State& state = buffers_[b];
    state.alive = false;
    state.gone = true;
    if (!state.evicted && !state.offloaded && anchors_[state.current] == 0) held_ -= size(b);
  }

  void start(std::uint32_t op) {
    const std::string name = "op " + std::to_string(op);
    for (; next_action_ < schedule_.actions.size() && schedule_.actions[next_action_].op == op;
         ++next_action_)
      act(schedule_.actions[next_action_]);
    for (std::size_t at = inputs_at(op); at < outputs_at(op); ++at) ++home(contents_.at(at)).locks;
    for (std::size_t at = inputs_at(op); at < outputs_at(op); ++at)
      bring_back(contents_.home(contents_.at(at)), name);
    std::vector<Content> written;
    for (std::size_t at = inputs_at(op); at < outputs_at(op); ++at) {
      if (log_.roles[at] != ValueRole::kChanged && log_.roles[at] != ValueRole::kReplaced) continue;
      written.push_back(contents_.at(at));
      advance(write_[contents_.at(at)], WriteState::kFrozen);
      for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
        const std::vector<Content>& leaves = buffers_[b].leaves;
        if (std::find(leaves.begin(), leaves.end(), contents_.at(at)) != leaves.end()) bring_back(b, name);
      }
    }
    for (const Content content : written) write_[content] = WriteState::kClosing;
    for (std::size_t at = inputs_at(op); at < outputs_at(op); ++at) {
      if (home(contents_.at(at)).evicted || home(contents_.at(at)).offloaded)
        throw Broken{name + " reads what is not there"};
    }
    at_most(held_ + contents_.fresh_bytes(op) + log_.trace.ops[op].workspace.value(), name);
  }

  void finish(std::uint32_t op) {
    for (std::size_t at = inputs_at(op); at < outputs_at(op); ++at) --home(contents_.at(at)).locks;
    for (std::size_t at = outputs_at(op); at < end_of(op); ++at) {
      State& state = home(contents_.at(at));
      if (contents_.is_first(contents_.at(at))) {
        state.alive = true;
        held_ += size(contents_.home(contents_.at(at)));
        continue;
      }
      state.current = contents_.at(at);
      state.stored = false;
    }
  }

  void act(const Action& action) {
    const std::string name = "action " + std::to_string(next_action_);
    const std::uint32_t b = buffer_of(action, name);
    State& state = buffers_[b];
    if (action.kind == ActionKind::kRematerialize || action.kind == ActionKind::kRestore)
      return bring_back(b, name);
    if (action.kind == ActionKind::kOffload) return store(b, name);
    if (action.kind != ActionKind::kEvict) throw Broken{name + ": its kind is not one of a schedule"};
    if (log_.stays[b] != Stay::kMayGo || action.op >= log_.pinned_from[b].value())
      throw Broken{name + ": its buffer must stay"};
    if (!state.alive || state.evicted || state.offloaded) throw Broken{name + ": its buffer is not there"};
    if (state.locks > 0) throw Broken{name + ": its buffer is in use"};
    verdicts_.assign(contents_.count(), kUnknown);
    if (!can_be_made(state.current) || maker_[state.current] == kNothing)
      throw Broken{name + ": nothing can make its buffer again"};
    std::vector<bool> seen(contents_.count(), false);
    find_leaves(state.current, seen, state.leaves);
    for (const Content leaf : state.leaves) {
      if (write_[leaf] != WriteState::kOpen)
        throw Broken{name + ": what its buffer starts from is being written"};
      ++anchors_[leaf];
    }
    state.evicted = true;
    held_ -= size(b);
  }

  std::uint32_t buffer_of(const Action& action, const std::string& name) const {
    if (action.entry < log_.made.size()) return log_.made[action.entry].value();
    const std::size_t lasting = std::size_t{action.entry} - kLastingEntries;
    if (action.entry < kLastingEntries || lasting >= lasting_.size())
      throw Broken{name + ": its buffer is not in the log"};
    return lasting_[lasting];
  }

  void store(std::uint32_t b, const std::string& name) {
    State& state = buffers_[b];
    if (state.alive && state.offloaded) return;
    if (log_.copy_ns.empty() || log_.copy_ns[b] == 0) throw Broken{name + ": its buffer has no store"};
    if (!state.alive || state.evicted) throw Broken{name + ": its buffer is not there"};
    if (state.locks > 0) throw Broken{name + ": its buffer is in use"};
    if (!state.stored) note_copy(b);
    state.stored = state.offloaded = true;
    held_ -= size(b);
  }
  void fetch(std::uint32_t b, std::uint64_t aside, const std::string& name) {
    note_copy(b);
    buffers_[b].offloaded = false;
    held_ += size(b);
    at_most(held_ + aside, name);
  }
  void note_copy(std::uint32_t b) {
    ++verdict_.copies;
    verdict_.copy_ns += log_.copy_ns[b];
  }

  // What is in memory but leads to something lost is where recomputation starts from now on.
  bool can_be_made(Content c) {
    if (verdicts_[c] != kUnknown) return verdicts_[c] == kYes;
    bool all = true;
    if (maker_[c] == kNothing) {
      all = lives(c);
    } else {
      for (const Content source : contents_.sources(maker_[c])) all = all && can_be_made(source);
      if (!all && readable(c)) {
        maker_[c] = kNothing;
        all = true;
      }
    }
    verdicts_[c] = all ? kYes : kNo;
    return all;
  }
  void find_leaves(Content c, std::vector<bool>& seen, std::vector<Content>& leaves) {
    if (seen[c]) return;
    seen[c] = true;
    if (maker_[c] == kNothing) return leaves.push_back(c);
    for (const Content source : contents_.sources(maker_[c])) find_leaves(source, seen, leaves);
  }

  void list_steps(std::uint32_t op, std::vector<std::uint32_t>& steps, std::set<std::uint32_t>& seen,
                  std::map<Content, int>& wanted) {
    if (!seen.insert(op).second) return;
    for (const Content source : contents_.sources(op)) {
      if (readable(source)) continue;
      ++wanted[source];
      if (maker_[source] == kNothing) throw Broken{"op " + std::to_string(op) + " cannot be run again"};
      list_steps(maker_[source], steps, seen, wanted);
    }
    steps.push_back(op);
  }

  void bring_back(std::uint32_t b, const std::string& name) {
    if (buffers_[b].offloaded && buffers_[b].alive) return fetch(b, 0, name);
    if (!buffers_[b].evicted || !buffers_[b].alive) return;
    std::vector<std::uint32_t> steps;
    std::set<std::uint32_t> seen;
    std::map<Content, int> wanted;
    list_steps(maker_[buffers_[b].current], steps, seen, wanted);
    std::map<Content, std::uint64_t> aside;  // made for later steps only
    for (const std::uint32_t step : steps) run_again(step, wanted, aside, name);
    if (buffers_[b].evicted) throw Broken{name + ": its buffer did not come back"};
  }

  void run_again(std::uint32_t op, std::map<Content, int>& wanted, std::map<Content, std::uint64_t>& aside,
                 const std::string& name) {
    std::uint64_t beside = 0;
    for (const auto& [made, more] : aside) beside += more;
    for (const Content source : contents_.sources(op)) {
      if (!aside.contains(source) && lives(source) && home(source).offloaded)
        fetch(contents_.home(source), beside, name);
    }
    std::uint64_t bytes = held_ + beside + contents_.fresh_bytes(op) +
                          log_.trace.ops[op].workspace.value() + log_.replay_extra[op].value();
    for (std::size_t at = inputs_at(op); at < outputs_at(op); ++at) {
      const Content input = contents_.at(at);
      const bool changed = log_.roles[at] == ValueRole::kChanged;
      if (log_.roles[at] == ValueRole::kReplaced) bytes += size(contents_.home(input));
      if (!changed && log_.roles[at] != ValueRole::kRead) continue;
      const bool last = wanted.contains(input) && --wanted[input] == 0;
      if (last && aside.contains(input)) {
        aside.erase(input);
      } else if (changed) {
        bytes += size(contents_.home(input));
      }
    }
    at_most(bytes, name);
    ++verdict_.replays;
    verdict_.replay_ns += log_.trace.ops[op].duration_ns;
    for (std::size_t at = outputs_at(op); at < end_of(op); ++at) {
      const Content out = contents_.at(at);
      if (log_.roles[at] != ValueRole::kMade) continue;
      const bool away = home(out).evicted || home(out).offloaded;
      if (away && home(out).alive && home(out).current == out) {
        home(out).evicted = home(out).offloaded = false;
        held_ += size(contents_.home(out));
        let_go(home(out));
      } else if (!readable(out) && wanted.contains(out) && wanted[out] > 0) {
        aside[out] = size(contents_.home(out));
      }
    }
  }

  void let_go(State& state) {
    for (const Content leaf : state.leaves) {
      const bool goes = --anchors_[leaf] == 0 && home(leaf).gone && home(leaf).current == leaf;
      if (goes && !home(leaf).offloaded) held_ -= size(contents_.home(leaf));
    }
    state.leaves.clear();
  }

  const StepLog& log_;
  const LogContents contents_;
  const Schedule& schedule_;
  const std::uint64_t budget_;
  std::vector<State> buffers_;
  std::vector<std::uint32_t> lasting_;  // by entry from kLastingEntries on
  std::vector<std::uint32_t> maker_;  // by content: the op that can make it again
  std::vector<int> anchors_;          // by content: evicted buffers that start from it
  std::vector<WriteState> write_;     // by content
  enum Answer : std::uint8_t { kUnknown, kYes, kNo };
  std::vector<Answer> verdicts_;
  std::uint64_t held_ = 0;
  std::size_t next_action_ = 0;
  Verdict verdict_;
};

}  // namespace

Result<Verdict> validate_schedule(const StepLog& log, const Schedule& schedule, Bytes budget) {
  if (Status status = log.validate(); !status) return status.error();
  if (schedule.shape_hashes != log.shape_hashes)
    return Error{ErrorCode::kInvalidPlan, "the schedule is for other ops; make it again"};
  try {
    return Walk(log, schedule, budget.value()).go();
  } catch (const Broken& broken) {
    return Error{ErrorCode::kInvalidPlan, "the schedule breaks a rule: " + broken.what + "; make it again"};
  }
}

}  // namespace stowage::planner::schedule
