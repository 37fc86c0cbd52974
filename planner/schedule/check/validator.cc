#include "planner/schedule/check/validator.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/residency_contract.h"
#include "planner/schedule/check/holdings.h"
#include "planner/schedule/check/log_contents.h"

namespace stowage::planner::schedule {
namespace {

class Walk : Holdings {
 public:
  Walk(const StepLog& log, const LogContents& contents, const Schedule& schedule, std::uint64_t budget)
      : Holdings(log, contents, budget),
        schedule_(schedule),
        lasting_(lasting_under(log, schedule)),
        made_(buffers_.size(), false),
        own_ns_(own_ns(log)) {
    for (const BufferId made : log.made) made_[made.value()] = true;
    for (const LastingState& one : lasting_) {
      State& state = buffers_[one.buffer];
      state.alive = state.offloaded = one.away;
      state.stored = one.away || !one.written;
      state.lasts_alike = !one.written;
      if (one.away) enter_store(one.buffer);
    }
  }

  Verdict go() {
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
    for (const LastingState& one : lasting_) {
      if (buffers_[one.buffer].offloaded != one.away)
        throw Broken{"buffer " + std::to_string(one.buffer) + " ends elsewhere than it begins"};
    }
    check_store();
    return verdict_;
  }

 private:
  std::multimap<std::uint64_t, std::pair<int, std::uint32_t>> timetable() const {
    std::vector<std::pair<std::uint64_t, std::pair<int, std::uint32_t>>> rows;
    const Trace& trace = log_.trace;
    for (std::uint32_t b = 0; b < trace.buffers.size(); ++b) {
      if (!trace.buffers[b].preexisting && !made_[b])
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

  std::size_t inputs_at(std::uint32_t op) const { return contents_.inputs_at(op); }
  std::size_t outputs_at(std::uint32_t op) const { return contents_.outputs_at(op); }
  std::size_t end_of(std::uint32_t op) const { return contents_.end_of(op); }

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
    pass(own_ns_[op]);
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
      leave_store(contents_.home(contents_.at(at)));
    }
  }

  void act(const Action& action) {
    const std::string name = "action " + std::to_string(next_action_);
    const std::uint32_t b = buffer_of(action, name);
    if (action.kind == ActionKind::kRematerialize || action.kind == ActionKind::kRestore)
      return bring_back(b, name);
    if (action.kind == ActionKind::kOffload) return offload(b, name);
    if (action.kind == ActionKind::kStore) return copy_there(b, name);
    if (action.kind == ActionKind::kPrefetch) return prefetch(b, name);
    if (action.kind != ActionKind::kEvict) throw Broken{name + ": its kind is not one of a schedule"};
    if (log_.stays[b] != Stay::kMayGo || action.op >= log_.pinned_from[b].value())
      throw Broken{name + ": its buffer must stay"};
    evict(b, name);
  }

  std::uint32_t buffer_of(const Action& action, const std::string& name) const {
    if (action.entry < log_.made.size()) return log_.made[action.entry].value();
    const std::size_t lasting = std::size_t{action.entry} - kLastingEntries;
    if (action.entry < kLastingEntries || lasting >= lasting_.size())
      throw Broken{name + ": its buffer is not in the log"};
    return lasting_[lasting].buffer;
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
    std::uint64_t bytes = held_ + beside + contents_.fresh_bytes(op) + log_.trace.ops[op].workspace.value() +
                          log_.replay_extra[op].value();
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
    pass(log_.trace.ops[op].duration_ns);
    for (std::size_t at = outputs_at(op); at < end_of(op); ++at) {
      const Content out = contents_.at(at);
      if (log_.roles[at] != ValueRole::kMade) continue;
      const bool away = home(out).evicted || (home(out).offloaded && !home(out).arriving);
      if (away && home(out).alive && home(out).current == out) {
        refill(contents_.home(out));
      } else if (!readable(out) && wanted.contains(out) && wanted[out] > 0) {
        aside[out] = size(contents_.home(out));
      }
    }
  }

  const Schedule& schedule_;
  const std::vector<LastingState> lasting_;  // by entry from kLastingEntries on
  std::vector<bool> made_;                   // by buffer: an op makes it
  const std::vector<std::uint64_t> own_ns_;  // by op
  std::size_t next_action_ = 0;
};

}  // namespace

Result<Verdict> validate_schedule(const StepLog& log, const Schedule& schedule, Bytes budget) {
  if (Status status = log.validate(); !status) return status.error();
  if (schedule.shape_hashes != log.shape_hashes)
    return Error{ErrorCode::kInvalidPlan, "the schedule is for other ops; make it again"};
  try {
    const LogContents contents(log);
    return Walk(log, contents, schedule, budget.value()).go();
  } catch (const Broken& broken) {
    return Error{ErrorCode::kInvalidPlan, "the schedule breaks a rule: " + broken.what + "; make it again"};
  }
}

}  // namespace stowage::planner::schedule
