#include "planner/schedule/check/holdings.h"

#include <algorithm>

namespace stowage::planner::schedule {

Holdings::Holdings(const StepLog& log, const LogContents& contents, std::uint64_t budget)
    : buffers_(log.trace.buffers.size()),
      maker_(contents.makers()),
      write_(contents.count(), WriteState::kOpen),
      log_(log),
      contents_(contents),
      budget_(budget),
      anchors_(contents.count()) {
  for (std::uint32_t b = 0; b < buffers_.size(); ++b) buffers_[b].current = contents.first_of(b);
}

bool Holdings::lives(Content c) const {
  return home(c).current == c && (home(c).alive || (home(c).gone && anchors_[c] > 0));
}

bool Holdings::readable(Content c) const {
  return lives(c) && !home(c).evicted && write_[c] != WriteState::kClosing;
}

void Holdings::at_most(std::uint64_t bytes, const std::string& name) {
  verdict_.peak = std::max(verdict_.peak, Bytes(bytes));
  if (bytes > budget_) throw Broken{name + ": " + std::to_string(bytes) + " bytes are held"};
}

void Holdings::appear(std::uint32_t b) {
  buffers_[b].alive = true;
  held_ += size(b);
  at_most(held_, "buffer " + std::to_string(b));
}

void Holdings::vanish(std::uint32_t b) {
  State& state = buffers_[b];
  state.alive = false;
  state.gone = true;
  if (anchors_[state.current] > 0) return;
  if (is_held(b)) held_ -= size(b);
  leave_store(b);
}

bool Holdings::is_held(std::uint32_t b) const {
  return buffers_[b].arriving || (!buffers_[b].evicted && !buffers_[b].offloaded);
}

void Holdings::evict(std::uint32_t b, const std::string& name) {
  State& state = buffers_[b];
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

void Holdings::copy_there(std::uint32_t b, const std::string& name) {
  State& state = buffers_[b];
  if (log_.copy_ns.empty() || log_.copy_ns[b] == 0) throw Broken{name + ": its buffer has no store"};
  if (!state.alive || state.evicted || state.offloaded) throw Broken{name + ": its buffer is not there"};
  if (state.locks > 0) throw Broken{name + ": its buffer is in use"};
  if (!state.stored) begin_copy(b, there_end_ns_);
  state.stored = true;
  enter_store(b);
}

void Holdings::enter_store(std::uint32_t b) {
  if (buffers_[b].in_store) return;
  buffers_[b].in_store = true;
  if (buffers_[b].lasts_alike) {
    lasting_stored_ += size(b);
  } else {
    store_changes_.push_back(static_cast<std::int64_t>(size(b)));
  }
}

void Holdings::leave_store(std::uint32_t b) {
  if (!buffers_[b].in_store || buffers_[b].lasts_alike) return;
  buffers_[b].in_store = false;
  store_changes_.push_back(-static_cast<std::int64_t>(size(b)));
}

void Holdings::check_store() const {
  auto stored = static_cast<std::int64_t>(lasting_stored_);
  std::int64_t most = stored;
  for (const std::int64_t change : store_changes_) most = std::max(most, stored += change);
  if (static_cast<std::uint64_t>(most) > log_.store_bytes.value())
    throw Broken{std::to_string(most) + " bytes of copies are in the store"};
}

void Holdings::offload(std::uint32_t b, const std::string& name) {
  State& state = buffers_[b];
  if (state.alive && state.offloaded) return;
  copy_there(b, name);
  wait_until(state.ready_ns);
  state.offloaded = true;
  held_ -= size(b);
}

void Holdings::prefetch(std::uint32_t b, const std::string& name) {
  State& state = buffers_[b];
  if (!state.alive || !state.offloaded || state.arriving) return;
  begin_copy(b, back_end_ns_);
  state.arriving = true;
  held_ += size(b);
  at_most(held_, name);
}

void Holdings::fetch(std::uint32_t b, std::uint64_t aside, const std::string& name) {
  State& state = buffers_[b];
  if (!state.arriving) {
    begin_copy(b, back_end_ns_);
    held_ += size(b);
  }
  wait_until(state.ready_ns);
  state.offloaded = state.arriving = false;
  at_most(held_ + aside, name);
}

void Holdings::begin_copy(std::uint32_t b, std::uint64_t& lane_end_ns) {
  ++verdict_.copies;
  verdict_.copy_ns += log_.copy_ns[b];
  const std::uint64_t free =
      log_.copy_lanes == CopyLanes::kEachWay ? lane_end_ns : std::max(there_end_ns_, back_end_ns_);
  const std::uint64_t end = std::max(free, now_ns_) + log_.copy_ns[b];
  buffers_[b].ready_ns = lane_end_ns = end;
  if (!run_beside_ops(log_.copy_lanes)) wait_until(end);
}

void Holdings::wait_until(std::uint64_t time_ns) {
  if (time_ns <= now_ns_) return;
  verdict_.wait_ns += time_ns - now_ns_;
  now_ns_ = time_ns;
}

void Holdings::refill(std::uint32_t b) {
  State& state = buffers_[b];
  state.evicted = state.offloaded = false;
  held_ += size(b);
  for (const Content leaf : state.leaves) {
    const bool goes = --anchors_[leaf] == 0 && home(leaf).gone && home(leaf).current == leaf;
    if (!goes) continue;
    if (is_held(contents_.home(leaf))) held_ -= size(contents_.home(leaf));
    leave_store(contents_.home(leaf));
  }
  state.leaves.clear();
}

// What is in memory but leads to something lost is where recomputation starts from now on.
bool Holdings::can_be_made(Content c) {
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

void Holdings::find_leaves(Content c, std::vector<bool>& seen, std::vector<Content>& leaves) {
  if (seen[c]) return;
  seen[c] = true;
  if (maker_[c] == kNothing) return leaves.push_back(c);
  for (const Content source : contents_.sources(maker_[c])) find_leaves(source, seen, leaves);
}

}  // namespace stowage::planner::schedule
